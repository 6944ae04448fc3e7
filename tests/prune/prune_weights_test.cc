// What goes by each score, and that what is computed as a whole goes as a whole: smaller models compute what the large
// ones compute with those channels at 0.
#include "prune/prune_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "calibrate/collect.h"
#include "ir/text.h"
#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/batch_norm.h"
#include "ops/calls/concat.h"
#include "ops/calls/conv.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/evaluate.h"
#include "passes/compress/coupled_channels.h"
#include "passes/pipelines.h"
#include "prune/loss_gradients.h"
#include "prune/registry.h"
#include "tests/passes/same_outputs.h"
#include "tests/support/error_of.h"
#include "tests/support/normal_tensor.h"
#include "train/train_graph.h"

namespace hone::test {
namespace {

using testing::HasSubstr;

constexpr int64_t kWidth = 8, kInner = 16;

// Residual blocks of an encoder: attention of 4 heads, with as many of keys and values or fewer, an inner layer,
// normalisations; a classifier behind the mean.
Graph encoder(int layers, int64_t shared = 4) {
  Graph g;
  uint64_t seed = 1;
  const auto constant = [&](const std::string& name, std::vector<int64_t> shape) {
    return g.add_constant(name, normal_tensor(++seed, shape, 0.5f));
  };
  const auto linear = [&](ValueId x, const std::string& name, int64_t n, int64_t k) {
    return ops::linear(g, {.x = x, .w = constant(name + ".weight", {n, k}), .b = constant(name + ".bias", {n})});
  };
  const ValueId ids = g.add_input("ids", {.dtype = DType::i64, .shape = {Dim::symbol("B"), 5}});
  ValueId x = ops::gather(g, {.table = constant("words.weight", {7, kWidth}), .indices = ids});
  for (int l = 0; l < layers; ++l) {
    const std::string at = fmt::format("layer.{}.", l);
    const ValueId q = linear(x, at + "query", kWidth, kWidth), k = linear(x, at + "key", 2 * shared, kWidth),
                  v = linear(x, at + "value", 2 * shared, kWidth);
    const ValueId mixed = ops::attention(g, {.q = q, .k = k, .v = v, .heads = 4, .kv_heads = shared});
    const ValueId sum = ops::add(g, {.a = x, .b = linear(mixed, at + "output", kWidth, kWidth)});
    const ValueId h = ops::layer_norm(
        g, {.x = sum, .weight = constant(at + "norm.weight", {kWidth}), .bias = constant(at + "norm.bias", {kWidth})});
    const ValueId inner = ops::gelu(g, {linear(h, at + "inner", kInner, kWidth)});
    const ValueId sum2 = ops::add(g, {.a = h, .b = linear(inner, at + "outer", kWidth, kInner)});
    x = ops::layer_norm(
        g,
        {.x = sum2, .weight = constant(at + "norm2.weight", {kWidth}), .bias = constant(at + "norm2.bias", {kWidth})});
  }
  const ValueId mean = ops::reduce_mean(g, {.x = x, .axes = std::vector<int64_t>{1}, .keepdims = 0});
  g.add_output(linear(mean, "classifier", 3, kWidth), "logits");
  return g;
}

Attributes window(int64_t pad, int64_t groups = 1) {
  Attributes attributes;
  attributes.set("pads", std::vector<int64_t>{pad, pad, pad, pad});
  if (groups > 1) attributes.set("groups", groups);
  return attributes;
}

// A residual block with batch norms, a depthwise and a grouped conv, a concatenation, and a flattened end.
Graph convnet() {
  Graph g;
  uint64_t seed = 100;
  const auto constant = [&](const std::string& name, std::vector<int64_t> shape) {
    return g.add_constant(name, normal_tensor(++seed, shape, 0.5f));
  };
  const auto conv = [&](ValueId x, const std::string& name, int64_t o, int64_t i, int64_t k, int64_t groups = 1) {
    return g.emit(conv_def, {x, constant(name + ".weight", {o, i / groups, k, k}), constant(name + ".bias", {o})},
                  window(k / 2, groups));
  };
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 3, 4, 4}});
  ValueId a = conv(x, "stem", 6, 3, 3);
  Tensor variance(DType::f32, {6});
  for (float& v : variance.mutable_as<float>()) v = 1.5f;
  a = ops::relu(g, {ops::batch_norm(g, {.x = a,
                                        .scale = constant("norm.weight", {6}),
                                        .bias = constant("norm.bias", {6}),
                                        .mean = constant("norm.mean", {6}),
                                        .variance = g.add_constant("norm.variance", variance)})});
  ValueId b = ops::relu(g, {conv(a, "block.first", 5, 6, 3)});
  b = conv(b, "block.second", 6, 5, 3);
  ValueId c = ops::relu(g, {ops::add(g, {.a = a, .b = b})});
  const ValueId d = ops::relu(g, {conv(c, "depthwise", 6, 6, 3, 6)});
  const ValueId e = ops::relu(g, {conv(c, "grouped", 4, 6, 1, 2)});
  const std::vector<ValueId> parts{d, e};
  ValueId y = ops::concat(g, {.inputs = parts, .axis = 1});
  y = ops::reshape(g, {.x = y, .shape = Shape{Dim::symbol("B"), 160}});
  g.add_output(ops::linear(g, {.x = y, .w = constant("head.weight", {2, 160}), .b = constant("head.bias", {2})}),
               "logits");
  return g;
}

PruneOptions structured(const std::string& structure, double sparsity) {
  return {.sparsity = sparsity, .method = "l1", .structure = structure};
}

const Tensor& weight(const Graph& graph, const std::string& label) {
  return *graph.constant(graph.find_constant(label));
}

double share_of_zeros(const Graph& graph, const std::string& label) {
  const std::vector<float> values = weight(graph, label).to_floats();
  return static_cast<double>(std::ranges::count(values, 0.0f)) / static_cast<double>(values.size());
}

// The indices along axis 0 that are left of a constant of different rows.
std::vector<int64_t> rows_left(const Tensor& before, const Tensor& after) {
  const std::vector<float> b = before.to_floats(), a = after.to_floats();
  const auto rows = static_cast<size_t>(before.dim(0));
  std::vector<int64_t> left;
  size_t next = 0;
  // Of vectors: rows of one element.
  for (size_t r = 0; r < rows && next < a.size(); ++r)
    if (b[r] == a[next]) left.push_back(static_cast<int64_t>(r)), ++next;
  return left;
}

void set_zero(Graph& graph, const std::string& label, int64_t row) {
  const ValueId id = graph.find_constant(label);
  Tensor tensor = *graph.constant(id);
  const std::span<float> values = tensor.mutable_as<float>();
  const int64_t columns = tensor.elements() / tensor.dim(0);
  std::fill_n(values.begin() + row * columns, columns, 0.0f);
  graph.set_constant(id, tensor);
}

TEST(PruneWeights, EveryMethodTakesTheShareOfEachLayerOrOfAll) {
  const Graph graph = encoder(1);
  Philox random(9);
  std::vector<NamedTensors> batches;
  for (int b = 0; b < 3; ++b) {
    std::vector<int64_t> ids(20), labels(4);
    for (int64_t& id : ids) id = random.below(7);
    for (int64_t& label : labels) label = random.below(3);
    batches.push_back({{"ids", Tensor::of<int64_t>({4, 5}, ids)}, {"labels", Tensor::of<int64_t>({4}, labels)}});
  }
  std::vector<NamedTensors> inputs = batches;
  for (NamedTensors& batch : inputs) batch.erase("labels");
  for (const ScoreDef* def : prune::all())
    for (const char* scope : {"local", "global"}) {
      SCOPED_TRACE(fmt::format("{} {}", def->name, scope));
      const PruneOptions options{.sparsity = 0.5, .method = def->name, .scope = scope};
      const std::vector<std::string> labels = prunable_weights(graph, options);
      ScoreSources sources;
      sources.statistics = collect_statistics(graph, inputs);
      if (def->needs == ScoreDef::Needs::gradient) sources.gradients = loss_gradients(graph, labels, {batches}, {});
      if (def->needs == ScoreDef::Needs::movement)
        sources.gradients = weight_movements(graph, labels, {batches}, 0.01, {});
      const PrunedGraph pruned = prune_weights(graph, options, sources);
      verify(pruned.graph);
      int64_t all = 0, gone = 0;
      for (const PrunedPart& part : pruned.parts) {
        all += part.all, gone += part.gone;
        if (std::string_view(scope) == "local") {
          EXPECT_EQ(2 * part.gone, part.all) << part.name;
        }
      }
      EXPECT_NEAR(static_cast<double>(gone), 0.5 * static_cast<double>(all), static_cast<double>(labels.size()));
      EXPECT_EQ(pruned.graph.nodes().size(), graph.nodes().size()) << "masks are folded";
    }
}

TEST(PruneWeights, SnipIsTheChangeOfTheLoss) {
  const Graph graph = encoder(1);
  const LossData data{{{{"ids", Tensor::of<int64_t>({2, 5}, {0, 1, 2, 3, 4, 5, 6, 0, 1, 2})},
                        {"labels", Tensor::of<int64_t>({2}, {1, 2})}}}};
  const std::string name = "layer.0.inner.weight";
  const auto loss = [&](const Graph& of) {
    Graph with_loss = of;
    const LossTerms terms = add_loss(with_loss, with_loss.outputs()[0].value, "labels", {});
    with_loss.add_output(ops::div(with_loss, {.a = terms.sum, .b = terms.count}), "loss");
    return evaluate(with_loss, data.batches[0])[1].to_doubles()[0];
  };
  const std::vector<float> gradient = loss_gradients(graph, {name}, data, {}).at(name).to_floats();
  for (size_t i : {0u, 17u, 100u}) {
    Graph up = graph, down = graph;
    constexpr float kStep = 1e-2f;
    for (Graph* g : {&up, &down}) {
      Tensor tensor = weight(graph, name);
      tensor.mutable_as<float>()[i] += g == &up ? kStep : -kStep;
      g->set_constant(g->find_constant(name), tensor);
    }
    EXPECT_NEAR((loss(up) - loss(down)) / (2 * kStep), gradient[i], 1e-3) << i;
  }
}

// Two inputs that are always equal: the weight of one makes up for that of the other.
TEST(PruneWeights, SparseGptLetsOthersMakeUp) {
  Graph graph;
  const ValueId x = graph.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 4}});
  graph.add_output(
      ops::linear(graph, {.x = x, .w = graph.add_constant("dense.weight", Tensor::of<float>({1, 4}, {1, 2, 3, 4}))}),
      "y");
  std::vector<float> values;
  Philox random(4);
  for (int i = 0; i < 64; ++i) {
    const float a = random.normal(), b = random.normal();
    values.insert(values.end(), {a, a, b, b});
  }
  const std::vector<NamedTensors> batches{{{"x", Tensor::of<float>({64, 4}, values)}}};
  ScoreSources sources{.statistics = collect_statistics(graph, batches), .gradients = {}};
  const auto error = [&](const char* method) {
    const PrunedGraph pruned = prune_weights(graph, {.method = method, .structure = "1:2"}, sources);
    EXPECT_EQ(share_of_zeros(pruned.graph, "dense.weight"), 0.5);
    const std::vector<double> got = evaluate(pruned.graph, batches[0])[0].to_doubles(),
                              want = evaluate(graph, batches[0])[0].to_doubles();
    double sum = 0, all = 0;
    for (size_t i = 0; i < got.size(); ++i) sum += (got[i] - want[i]) * (got[i] - want[i]), all += want[i] * want[i];
    return sum / all;
  };
  EXPECT_GT(error("wanda"), 0.05);
  EXPECT_LT(error("sparsegpt"), 0.001);
}

TEST(PruneWeights, NeighboursAreThoseOfOneTap) {
  const Graph graph = canonicalise(convnet());
  const PrunedGraph pruned = prune_weights(graph, {.method = "l1", .structure = "1:2", .rule = {"block.first"}}, {});
  const Tensor& after = weight(pruned.graph, "block.first.weight");
  const std::vector<float> values = after.to_floats();
  const int64_t channels = after.dim(1), taps = 9;
  for (int64_t o = 0; o < after.dim(0); ++o)
    for (int64_t c = 0; c < channels; c += 2)
      for (int64_t t = 0; t < taps; ++t) {
        const auto at = [&](int64_t channel) {
          return values[static_cast<size_t>((o * channels + channel) * taps + t)];
        };
        EXPECT_EQ((at(c) == 0) + (at(c + 1) == 0), 1);
      }
}

TEST(PruneWeights, HeadsGoFromQueryKeyValueAndOutput) {
  const Graph graph = encoder(2);
  const PrunedGraph pruned = prune_weights(graph, structured("heads", 0.5), {});
  verify(pruned.graph);
  EXPECT_EQ(pruned.parts.size(), 2);
  for (int l : {0, 1}) {
    const std::string at = fmt::format("layer.{}.", l);
    for (const char* name : {"query", "key", "value"})
      EXPECT_EQ(weight(pruned.graph, at + name + ".weight").shape(), (std::vector<int64_t>{4, 8}));
    EXPECT_EQ(weight(pruned.graph, at + "query.bias").shape(), (std::vector<int64_t>{4}));
    EXPECT_EQ(weight(pruned.graph, at + "output.weight").shape(), (std::vector<int64_t>{8, 4}));
  }
  // The same as heads whose values are 0.
  Graph masked = graph;
  for (int l : {0, 1}) {
    const std::string at = fmt::format("layer.{}.value", l);
    const std::vector<int64_t> left = rows_left(weight(graph, at + ".bias"), weight(pruned.graph, at + ".bias"));
    ASSERT_EQ(left.size(), 4);
    EXPECT_EQ(left[0] % 2, 0) << "whole heads of two columns";
    for (int64_t row = 0; row < kWidth; ++row)
      if (!std::ranges::count(left, row)) set_zero(masked, at + ".weight", row), set_zero(masked, at + ".bias", row);
  }
  expect_same_outputs(masked, pruned.graph, 1e-5);
}

TEST(PruneWeights, HeadsThatShareKeysAndValuesGoTogether) {
  const Graph graph = encoder(1, 2);
  const PrunedGraph pruned = prune_weights(graph, structured("heads", 0.5), {});
  verify(pruned.graph);
  const auto shape = [&](const char* name) {
    return weight(pruned.graph, fmt::format("layer.0.{}.weight", name)).shape();
  };
  EXPECT_EQ(shape("query"), (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(shape("key"), (std::vector<int64_t>{2, 8}));
  EXPECT_EQ(shape("value"), (std::vector<int64_t>{2, 8}));
  EXPECT_EQ(shape("output"), (std::vector<int64_t>{8, 4}));
  Graph masked = graph;  // the same as a head of values that are 0
  const std::vector<int64_t> left =
      rows_left(weight(graph, "layer.0.value.bias"), weight(pruned.graph, "layer.0.value.bias"));
  ASSERT_EQ(left.size(), 2);
  for (int64_t row = 0; row < 4; ++row)
    if (!std::ranges::count(left, row))
      set_zero(masked, "layer.0.value.weight", row), set_zero(masked, "layer.0.value.bias", row);
  expect_same_outputs(masked, pruned.graph, 1e-5);
}

TEST(PruneWeights, NeuronsGoFromBothLayers) {
  const Graph graph = encoder(1);
  const PrunedGraph pruned = prune_weights(graph, structured("neurons", 0.25), {});
  verify(pruned.graph);
  EXPECT_EQ(weight(pruned.graph, "layer.0.inner.weight").shape(), (std::vector<int64_t>{12, 8}));
  EXPECT_EQ(weight(pruned.graph, "layer.0.outer.weight").shape(), (std::vector<int64_t>{8, 12}));
  Graph masked = graph;  // gelu(0) = 0
  const std::string at = "layer.0.inner";
  const std::vector<int64_t> left = rows_left(weight(graph, at + ".bias"), weight(pruned.graph, at + ".bias"));
  for (int64_t row = 0; row < kInner; ++row)
    if (!std::ranges::count(left, row)) set_zero(masked, at + ".weight", row), set_zero(masked, at + ".bias", row);
  expect_same_outputs(masked, pruned.graph, 1e-5);
}

TEST(PruneWeights, ChannelsGoThroughResidualsNormsGroupsConcatenationsAndFlattening) {
  const Graph graph = convnet();
  const PrunedGraph pruned = prune_weights(graph, structured("channels", 0.34), {});
  verify(pruned.graph);
  const Graph& g = pruned.graph;
  // stem, the block's end, the depthwise conv and the grouped one's inputs are one: groups of three go.
  EXPECT_EQ(weight(g, "block.first.weight").shape(), (std::vector<int64_t>{3, weight(g, "stem.weight").dim(0), 3, 3}));
  EXPECT_EQ(weight(g, "stem.weight").dim(0), weight(g, "depthwise.weight").dim(0));
  EXPECT_EQ(weight(g, "norm.mean").dim(0), weight(g, "stem.weight").dim(0));
  EXPECT_EQ(weight(g, "head.weight").dim(1),
            16 * (weight(g, "depthwise.weight").dim(0) + weight(g, "grouped.weight").dim(0)));
  Graph masked = graph;  // relu(0) = 0
  const std::vector<int64_t> left = rows_left(weight(graph, "block.first.bias"), weight(g, "block.first.bias"));
  ASSERT_EQ(left.size(), 3);
  Philox rng(7);
  const auto inputs = random_inputs(g, rng);
  EXPECT_EQ(evaluate(g, inputs)[0].shape(), (std::vector<int64_t>{2, 2}));
  // Of the one family that stands alone, to the value.
  PruneOptions alone = structured("channels", 0.34);
  alone.rule = {"block.first"};
  const PrunedGraph one = prune_weights(graph, alone, {});
  const std::vector<int64_t> kept = rows_left(weight(graph, "block.first.bias"), weight(one.graph, "block.first.bias"));
  for (int64_t row = 0; row < 5; ++row)
    if (!std::ranges::count(kept, row))
      set_zero(masked, "block.first.weight", row), set_zero(masked, "block.first.bias", row);
  expect_same_outputs(masked, one.graph, 1e-5);
}

TEST(PruneWeights, LayersGoBetweenValuesOfOneType) {
  const Graph graph = encoder(4);
  const PrunedGraph pruned = prune_weights(graph, structured("layers", 0.5), {});
  verify(pruned.graph);
  EXPECT_EQ(pruned.graph.nodes().size(), encoder(2).nodes().size());
  Philox rng(7);
  EXPECT_EQ(evaluate(pruned.graph, random_inputs(graph, rng))[0].shape(), (std::vector<int64_t>{2, 3}));
}

TEST(PruneWeights, GlobalLeavesEachFamilySomething) {
  Graph graph = encoder(2);
  for (int64_t row = 0; row < kInner; ++row) set_zero(graph, "layer.0.inner.weight", row);
  PruneOptions options = structured("neurons", 0.6);
  options.scope = "global";
  const PrunedGraph pruned = prune_weights(graph, options, {});
  for (const PrunedPart& part : pruned.parts) EXPECT_LT(part.gone, part.all) << part.name;
}

TEST(PruneWeights, SaysWhatTiesWhatCanNotGo) {
  const Graph graph = encoder(1);
  const auto error = [&](PruneOptions options) { return error_of([&] { prune_weights(graph, options, {}); }); };
  PruneOptions classifier = structured("channels", 0.3);
  classifier.rule = {"classifier"};
  EXPECT_THAT(error(classifier), HasSubstr("channels of classifier.weight can't be pruned: classifier.weight: they are "
                                           "the model's output \"logits\""));
  EXPECT_THAT(error(structured("neurons", 0.99)), HasSubstr("all its 16 neurons would go"));
  EXPECT_THAT(error(structured("layers", 0.9)), HasSubstr("all 1 layers would go"));
  EXPECT_THAT(error({.sparsity = 1}), HasSubstr("sparsity is 1; accepted: 0 to below 1"));
  EXPECT_THAT(error({.sparsity = -0.5}), HasSubstr("sparsity is -0.5"));
  EXPECT_THAT(error({.sparsity = std::nan("")}), HasSubstr("sparsity is nan"));
  EXPECT_THAT(error({.method = "l3"}), HasSubstr("unknown method l3; known: l1, l2, movement"));
  EXPECT_THAT(error({.structure = "head"}), HasSubstr("Did you mean heads"));
  EXPECT_THAT(error({.structure = "4:2"}), HasSubstr("of N:M, N of each M"));
  EXPECT_THAT(error({.sparsity = 0.3, .structure = "2:4"}), HasSubstr("structure 2:4 is a sparsity of 0.5"));
  EXPECT_THAT(error({.scope = "all"}), HasSubstr("scope is \"all\""));
  EXPECT_THAT(error({.method = "sparsegpt", .structure = "heads"}), HasSubstr("of single weights"));
  EXPECT_THAT(error({.rule = {"no such"}}), HasSubstr("rule \"no such\" matches none of"));
  const Graph packed = run_pass(run_pass(graph, "quantize", {.options = FormatRules{.to = "int8"}}), "fold_fake_quant");
  EXPECT_THAT(error_of([&] { prune_weights(packed, {}, {}); }), HasSubstr("pruned before they are quantized"));
  const Graph none = Graph();
  EXPECT_THAT(error_of([&] { prune_weights(none, {}, {}); }), HasSubstr("no weights that could be pruned"));
}

}  // namespace
}  // namespace hone::test
