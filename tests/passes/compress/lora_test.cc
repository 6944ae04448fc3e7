// Low-rank adapters: put in without changing a bit, fused within one rounding, and refused where they do not fit.
#include "passes/compress/lora.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "ir/text.h"
#include "ops/calls/conv.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"
#include "ops/calls/reshape.h"
#include "passes/pipelines.h"
#include "tests/passes/kept_outputs.h"
#include "tests/passes/parse_ops.h"

namespace hone::test {
namespace {

using testing::HasSubstr;

void fill(Graph& graph, ValueId id, uint64_t seed) {
  Philox random(seed);
  Tensor tensor(DType::f32, graph.constant(id)->shape());
  for (float& v : tensor.mutable_as<float>()) v = 0.3f * random.normal();
  graph.set_constant(id, tensor);
}

// A table, a linear and a conv.
Graph network() {
  Graph g;
  const auto random = [&](uint64_t seed, const std::vector<int64_t>& shape) {
    Philox numbers(seed);
    Tensor tensor(DType::f32, shape);
    for (float& v : tensor.mutable_as<float>()) v = 0.3f * numbers.normal();
    return tensor;
  };
  const ValueId ids = g.add_input("ids", {.dtype = DType::i64, .shape = {Dim::symbol("B"), 6}});
  const ValueId x = ops::gather(g, {.table = g.add_constant("words.weight", random(1, {9, 6})), .indices = ids});
  const ValueId h = ops::linear(g, {.x = x,
                                    .w = g.add_constant("dense.weight", random(2, {8, 6})),
                                    .b = g.add_constant("dense.bias", random(3, {8}))});
  const ValueId i = ops::reshape(g, {.x = h, .shape = Shape{Dim::symbol("B"), 3, 4, 4}});
  Attributes window;
  window.set("pads", std::vector<int64_t>{1, 1, 1, 1});
  window.set("strides", std::vector<int64_t>{2, 2});
  g.add_output(
      g.emit(conv_def,
             {i, g.add_constant("conv.weight", random(4, {5, 3, 3, 3})), g.add_constant("conv.bias", random(5, {5}))},
             window),
      "y");
  return g;
}

Graph inserted(const Graph& graph, LoraOptions options) { return run_pass(graph, "insert_lora", {.options = options}); }

// As training leaves them: no part is 0.
Graph trained(Graph graph) {
  for (const Adapter& adapter : adapters_of(graph)) {
    fill(graph, adapter.a, 11);
    fill(graph, adapter.b, 12);
    if (adapter.magnitude == kNone) continue;
    std::vector<double> lengths = graph.constant(adapter.magnitude)->to_doubles();
    for (double& v : lengths) v *= 1.25;
    graph.set_constant(adapter.magnitude,
                       Tensor::from_doubles(DType::f32, {static_cast<int64_t>(lengths.size())}, lengths));
  }
  return graph;
}

const std::vector<std::string> kAll = {"op:linear", "op:conv", "op:gather"};

TEST(Lora, LeavesTheOutputsAsTheyAreToTheBit) {
  const Graph before = network();
  for (const LoraOptions& options : {LoraOptions{.rule = kAll, .rank = 3, .alpha = 7},
                                     LoraOptions{.rule = {"dense"}, .rank = 2, .rslora = true, .dora = true}}) {
    const Graph after = inserted(before, options);
    verify(after);
    EXPECT_EQ(adapters_of(after).size(), options.rule.size());
    Philox rng(7);
    const auto inputs = random_inputs(before, rng);
    EXPECT_TRUE(evaluate(before, inputs)[0].same_bits(evaluate(after, inputs)[0]));
    EXPECT_NE(after.find_constant("dense.bias"), kNone);
  }
}

TEST(Lora, FusedWeightsComputeWhatAdaptersDid) {
  for (const LoraOptions& options : {LoraOptions{.rule = kAll, .rank = 3, .alpha = 7},
                                     LoraOptions{.rule = {"dense"}, .rank = 2, .alpha = 5, .rslora = true},
                                     LoraOptions{.rule = {"dense"}, .rank = 2, .dora = true}}) {
    const Graph before = trained(inserted(network(), options));
    const Graph after = run_pass(before, "fuse_lora");
    verify(after);
    EXPECT_FALSE(has_adapters(after));
    EXPECT_EQ(after.nodes().size(), network().nodes().size());
    EXPECT_FALSE(output_fault(network(), after).empty()) << "nothing was fused";
    if (!options.dora) expect_kept_outputs(before, after);  // sqrt and div have their own bounds
    else expect_same_outputs(before, after, 64 * 0x1p-24);
  }
}

TEST(Lora, ScalingIsAlphaByRankOrItsRoot) {
  const auto scaling = [](LoraOptions options) { return adapters_of(inserted(network(), options)).at(0).scaling; };
  EXPECT_FLOAT_EQ(scaling({.rule = {"dense"}, .rank = 4}), 1);
  EXPECT_FLOAT_EQ(scaling({.rule = {"dense"}, .rank = 4, .alpha = 6}), 1.5);
  EXPECT_FLOAT_EQ(scaling({.rule = {"dense"}, .rank = 4, .alpha = 6, .rslora = true}), 3);
}

TEST(Lora, AWeightThatOthersReadStaysTheirs) {
  Graph graph = network();
  const ValueId other = graph.add_input("other", {.dtype = DType::f32, .shape = {2, 6}});
  graph.add_output(ops::linear(graph, {.x = other, .w = graph.find_constant("words.weight")}), "z");
  const Graph before = trained(inserted(graph, {.rule = {"op:gather"}, .rank = 2}));
  const Graph after = run_pass(before, "fuse_lora");
  EXPECT_NE(after.find_constant("words.fused.weight"), kNone);
  expect_kept_outputs(before, after);
}

Graph packed_network() {
  FormatRules rules{.to = "int4.g2"};
  return run_pass(run_pass(network(), "quantize", {.options = rules}), "fold_fake_quant");
}

TEST(Lora, PackedWeightsStayPackedUntilRequantizingIsAllowed) {
  const Graph before = trained(inserted(packed_network(), {.rule = kAll, .rank = 2}));
  for (const Adapter& adapter : adapters_of(before)) EXPECT_TRUE(before.constant(adapter.weight)->is_packed());
  EXPECT_THAT(error_of([&] { run_pass(before, "fuse_lora"); }), HasSubstr("--requantize"));
  const Graph after = run_pass(before, "fuse_lora", {.options = FuseLoraOptions{.requantize = true}});
  for (const Adapter& adapter : adapters_of(before)) {
    const Tensor& fused = *after.constant(after.find_constant(before.value(adapter.weight).label));
    ASSERT_TRUE(fused.is_packed());
    EXPECT_EQ(fused.format(), before.constant(adapter.weight)->format());
    EXPECT_FALSE(fused.same_bits(*before.constant(adapter.weight)));
  }
}

TEST(Lora, DoraFollowsTheLengthsOfPackedRows) {
  const Graph packed = packed_network();
  const Graph before = inserted(packed, {.rule = {"dense"}, .rank = 2, .dora = true});
  Philox rng(7);
  const auto inputs = random_inputs(before, rng);
  EXPECT_TRUE(evaluate(packed, inputs)[0].same_bits(evaluate(before, inputs)[0]));
  // Against the rows' lengths as they are defined.
  const Graph after = trained(before);
  const Adapter adapter = adapters_of(after).at(0);
  const std::vector<double> rows = fused_weight(after, adapter).to_doubles(),
                            lengths = after.constant(adapter.magnitude)->to_doubles();
  for (size_t n = 0; n < lengths.size(); ++n) {
    double square = 0;
    for (size_t k = 0; k < 6; ++k) square += rows[n * 6 + k] * rows[n * 6 + k];
    EXPECT_NEAR(std::sqrt(square), lengths[n], 1e-6);
  }
}

TEST(Lora, SaysWhatDoesNotFit) {
  const auto insert_error = [](const Graph& graph, LoraOptions options) {
    return error_of([&] { inserted(graph, options); });
  };
  const Graph graph = network();
  EXPECT_THAT(insert_error(graph, {}), HasSubstr("needs the option insert_lora.rule"));
  EXPECT_THAT(insert_error(graph, {.rule = {"denes.weight"}}), HasSubstr("Did you mean dense.weight"));
  EXPECT_THAT(insert_error(graph, {.rule = {"op:matmul"}}), HasSubstr("rule \"op:matmul\" matches no layer"));
  EXPECT_THAT(insert_error(graph, {.rule = {"("}}), HasSubstr("rule \"(\""));
  EXPECT_THAT(insert_error(graph, {.rule = {"dense"}, .skip = {"dense"}}), HasSubstr("only what is skipped"));
  EXPECT_THAT(insert_error(graph, {.rule = {"dense"}, .rank = 0}), HasSubstr("rank is 0; accepted: 1 to"));
  EXPECT_THAT(insert_error(graph, {.rule = {"dense"}, .alpha = -1}), HasSubstr("alpha is -1"));
  EXPECT_THAT(insert_error(graph, {.rule = {"dense"}, .dropout = 1}), HasSubstr("dropout is 1"));
  EXPECT_THAT(insert_error(graph, {.rule = {"conv"}, .dora = true}), HasSubstr("dora is of linear layers"));
  EXPECT_THAT(insert_error(inserted(graph, {.rule = {"dense"}}), {.rule = {"words"}}),
              HasSubstr("has adapters already"));
  EXPECT_THAT(error_of([&] { run_pass(graph, "fuse_lora"); }), HasSubstr("no adapters to fuse"));
  EXPECT_THAT(insert_error(parse("%x : f32[2] = input\n%y = relu %x\nreturn %y"), {.rule = {"x"}}),
              HasSubstr("no linear, conv or table"));
  const AdapterTensors wrong[] = {{.layer = "dense", .a = Tensor(DType::f32, {2, 7}), .b = Tensor(DType::f32, {8, 2})},
                                  {.layer = "dens", .a = Tensor(DType::f32, {2, 6}), .b = Tensor(DType::f32, {8, 2})}};
  const std::string error = error_of([&] { attach_adapters(graph, wrong); });
  EXPECT_THAT(error, HasSubstr("2 of 2 adapters do not fit"));
  EXPECT_THAT(error, HasSubstr("dense: A is [2,7] and B [8,2]; the layer's weight [8,6] takes [2,6] and [8,2]"));
  EXPECT_THAT(error, HasSubstr("dens: the model has no such layer. Did you mean dense"));
}

TEST(Lora, AdaptersThatOtherPassesTookApartAreRefused) {
  Graph graph = inserted(network(), {.rule = {"dense"}, .rank = 2});
  const Adapter adapter = adapters_of(graph).at(0);
  graph.add_output(graph.operand(graph.producer(adapter.sites[0].sum), 1), "inner");
  EXPECT_THAT(error_of([&] { adapters_of(graph); }), HasSubstr("dense: its adapter's nodes are not those"));
}

// What a file may hold: each part is of a size that the others' shapes allow, by broadcasting.
TEST(Lora, AdaptersOfOtherSizesThanTheirWeightAreRefused) {
  const Graph graph = parse(R"(
%x : f32[B,3] = input
%w : f32[1,3] = const "dense.weight" {1, 2, 3}
%a : f32[2,3] = const "dense.lora_A.weight" {1, 2, 3, 4, 5, 6}
%b : f32[4,2] = const "dense.lora_B.weight" {1, 2, 3, 4, 5, 6, 7, 8}
%y = linear %x, %w
%h = linear %x, %a
%u = linear %h, %b
%z = add %y, %u
return %z
)");
  EXPECT_THAT(error_of([&] { run_pass(graph, "fuse_lora"); }), HasSubstr("dense: its adapter's nodes are not those"));
}

}  // namespace
}  // namespace hone::test
