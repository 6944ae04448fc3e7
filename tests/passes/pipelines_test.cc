#include "passes/pipelines.h"

#include <gtest/gtest.h>

#include <set>

#include "passes/lower/set_compute.h"
#include "passes/registry.h"
#include "tests/passes/parse_ops.h"
#include "tests/passes/pass_context.h"
#include "tests/passes/same_outputs.h"

namespace hone {
namespace {

// A transformer layer as an exporter writes it, with a mask of ones made inside.
constexpr const char* kExported = R"(
  %x : f32[B,S,4] = input
  %wq : f32[4,4] = const "q" {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6}
  %bq : f32[4] = const "bq" {0.1, 0.2, 0.3, 0.4}
  %wk : f32[4,4] = const "k" {0.4, 0.3, 0.2, 0.1, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6}
  %mq = matmul %x, %wq
  %q = add %mq, %bq
  %k = matmul %x, %wk
  %v = dropout %x
  %q4 = reshape %q {shape=[B,S,2,2]}
  %qh = transpose %q4 {perm=[0, 2, 1, 3]}
  %k4 = reshape %k {shape=[B,S,2,2]}
  %kh = transpose %k4 {perm=[0, 2, 3, 1]}
  %v4 = reshape %v {shape=[B,S,2,2]}
  %vh = transpose %v4 {perm=[0, 2, 1, 3]}
  %scores = matmul %qh, %kh
  %scaled = div %scores, 1.4142135
  %ones = full {shape=[B,1,1,S], value=1}
  %inverse = sub 1.0, %ones
  %bias = mul %inverse, -3.4028235e38
  %masked = add %scaled, %bias
  %p = softmax %masked
  %pd = dropout %p
  %o = matmul %pd, %vh
  %ot = transpose %o {perm=[0, 2, 1, 3]}
  %a = reshape %ot {shape=[B,S,4]}
  %r = add %a, %x
  %m = reduce_mean %r {axes=[-1]}
  %d = sub %r, %m
  %sq = pow %d, 2.0
  %var = reduce_mean %sq {axes=[-1]}
  %eps = add %var, 1e-5
  %root = sqrt %eps
  %n = div %d, %root
  %g : f32[4] = const "g" {1, 2, 3, 4}
  %h : f32[4] = const "h" {0, 1, 0, 1}
  %ng = mul %n, %g
  %ln = add %ng, %h
  %e0 = div %ln, 1.4142135
  %e1 = erf %e0
  %e2 = add %e1, 1.0
  %e3 = mul %ln, %e2
  %y = mul %e3, 0.5
  return %y)";

std::vector<std::string> op_names(const Graph& g) {
  std::vector<std::string> names;
  for (NodeId id : g.nodes()) names.emplace_back(g.node(id).op->name);
  return names;
}

TEST(Canonicalise, AnExportedLayerIsSixOps) {
  const Graph before = test::parse(kExported);
  const Graph after = canonicalise(before, {.disabled = {}, .verify = true, .after = {}});
  EXPECT_EQ(op_names(after), (std::vector<std::string>{"linear", "linear", "attention", "add", "layer_norm", "gelu"}))
      << print(after);
  EXPECT_EQ(after.operand(after.nodes("attention")[0], 2), after.inputs()[0]);
  EXPECT_LE(after.use_count(after.find_constant("q")), 1);
  test::expect_same_outputs(before, after, 0x1p-18);
}

TEST(Canonicalise, IsIdempotent) {
  const Graph once = canonicalise(test::parse(kExported));
  EXPECT_EQ(print(canonicalise(once)), print(once));
}

TEST(Canonicalise, EveryPassCanBeLeftOut) {
  const Graph before = test::parse(kExported);
  for (const PassDef* pass : passes::all()) {
    SCOPED_TRACE(pass->name);
    std::set<std::string> ran;
    const PipelineOptions options{
        .disabled = {pass->name}, .verify = true, .after = [&](const PassDef& each, const Graph&, double ms) {
          EXPECT_GE(ms, 0);
          ran.insert(each.name);
        }};
    const Graph after = prepare_for_codegen(before, Compute::f32, options);
    EXPECT_FALSE(ran.contains(pass->name));
    test::expect_same_outputs(before, after, 0x1p-18);
  }
}

TEST(Pipelines, ADevicesPassesRunBehindTheCanonicalForm) {
  constexpr const char* kPasses[] = {"widen_halves", "set_compute", "remove_dead"};
  std::vector<std::string> canonical, ran;
  const auto listed = [](std::vector<std::string>& names) {
    return PipelineOptions{.after = [&](const PassDef& each, const Graph&, double) { names.push_back(each.name); }};
  };
  canonicalise(test::parse(kExported), listed(canonical));
  prepare_for_codegen(test::parse(kExported), Compute::bf16, listed(ran), {kPasses});
  canonical.push_back("inline_captures");
  canonical.insert(canonical.end(), std::begin(kPasses), std::end(kPasses));
  EXPECT_EQ(ran, canonical);
}

TEST(Pipelines, RefuseUnknownPasses) {
  EXPECT_NE(test::error_of([] {
              canonicalise(Graph(), {.disabled = {"fold_constant"}, .verify = false, .after = {}});
            }).find("Did you mean fold_constants"),
            std::string::npos);
  EXPECT_THROW(run_pass(Graph(), "nonsense"), Error);
}

TEST(Pipelines, EveryPassIsDocumentedAndLeavesAnEmptyGraphAlone) {
  for (const PassDef* pass : passes::all()) {
    EXPECT_GT(std::string(pass->doc).size(), 20u) << pass->name;
    for (const OptionTable* table : pass->run.options())
      for (const OptionInfo& option : table->fields())
        EXPECT_GT(std::string(option.doc).size(), 10u) << table->pass << "." << option.name;
    if (!test::takes(*pass, Graph())) continue;
    EXPECT_EQ(print(pass->run(Graph(), test::context_for(*pass, Graph(), Statistics()))), print(Graph())) << pass->name;
  }
}

TEST(SetCompute, CastsEachActivationOnce) {
  const Graph before = test::parse(kExported);
  const Graph after = prepare_for_codegen(before, Compute::bf16, {.disabled = {}, .verify = true, .after = {}});
  // x, q and k; the two linears and v share the cast of x.
  EXPECT_EQ(after.nodes("cast").size(), 3u) << print(after);
  for (NodeId id : after.nodes("linear")) {
    EXPECT_EQ(after.type(after.operand(id, 0)).dtype, DType::bf16);
    EXPECT_EQ(after.type(after.result(id)).dtype, DType::f32);
  }
  test::expect_same_outputs(before, after, 0x1p-4);  // bf16 has 8 significant bits, and layer_norm magnifies
  EXPECT_EQ(print(run_pass(before, "set_compute", {SetComputeOptions{"f32"}})), print(before));
}

TEST(SetCompute, ConvReadsBf16UnlessItIsDepthwise) {
  const Graph before = test::parse(R"(
    %x : f32[B,2,H,W] = input
    %w : f32[1,2,1,2] = const "dense" {1, 2, 3, 4}
    %d : f32[2,1,2,1] = const "depthwise" {1, 2, 3, 4}
    %p : f32[2,2,1,1] = const "pointwise" {1, 2, 3, 4}
    %o : f32[1,1,1,2] = const "single" {1, 2}
    %a = conv %x, %d {groups=2}
    %b = conv %a, %p
    %y = conv %b, %w
    %z = conv %y, %o
    return %z)");
  const Graph after = prepare_for_codegen(before, Compute::bf16, {.disabled = {}, .verify = true, .after = {}});
  const auto read = [&](NodeId id) { return after.type(after.operand(id, 0)).dtype; };
  const std::vector<NodeId> convs = after.nodes("conv");
  ASSERT_EQ(convs.size(), 3);
  EXPECT_EQ(read(convs[0]), DType::f32);
  EXPECT_EQ(read(after.nodes("linear")[0]), DType::bf16);
  EXPECT_EQ(read(convs[1]), DType::bf16);
  EXPECT_EQ(read(convs[2]), DType::f32);
  EXPECT_EQ(after.type(after.outputs()[0].value).dtype, DType::f32);
  test::expect_same_outputs(before, after, 0x1p-6);  // two roundings to bf16, of 2^-9 each
}

TEST(ExpandAttentionGradient, IsForWhatItsKernelDoesNotTake) {
  const auto text = [](const char* width, const char* mask) {
    return test::parse(fmt::format(R"(
      %q : f32[B,S,8] = input
      %v : f32[B,S,{0}] = input
      %m : f32[{1}] = input
      %dq, %dk, %dv = attention_gradient %q, %q, %v, %v, %m {{heads=2}}
      return %dq, %dk, %dv)",
                                   width, mask));
  };
  const auto left = [](const Graph& graph, Compute compute) {
    return prepare_for_codegen(graph, compute, {.disabled = {}, .verify = true, .after = {}})
        .nodes("attention_gradient")
        .size();
  };
  EXPECT_EQ(left(text("8", "B,1,1,S"), Compute::f32), 1u);
  EXPECT_EQ(left(text("8", "B,1,1,S"), Compute::bf16), 0u);
  EXPECT_EQ(left(text("6", "B,1,1,S"), Compute::f32), 0u);  // values of another width than the keys
  EXPECT_EQ(left(text("8", "B,1,S,1"), Compute::f32), 0u);  // a mask of queries alone
  EXPECT_EQ(left(text("8", "M,1,1,S"), Compute::f32), 0u);  // M is 1 or B
}

TEST(SetCompute, GradientsOfConvReadBf16UnlessDepthwise) {
  const Graph before = test::parse(R"(
    %x : f32[2,2,4,4] = input
    %d : f32[2,4,4,4] = input
    %w : f32[4,2,1,1] = input
    %e : f32[2,2,4,4] = input
    %dw = conv_weight_gradient %d, %x {kernel_shape=[1, 1]}
    %dx = conv_input_gradient %d, %w {sizes=[4, 4]}
    %each = conv_weight_gradient %e, %x {groups=2, kernel_shape=[1, 1]}
    return %dw, %dx, %each)");
  const Graph after = run_pass(before, "set_compute", {SetComputeOptions{"bf16"}});
  const auto read = [&](NodeId id) { return after.type(after.operand(id, 0)).dtype; };
  EXPECT_EQ(read(after.nodes("conv_weight_gradient")[0]), DType::bf16);
  EXPECT_EQ(read(after.nodes("conv_input_gradient")[0]), DType::bf16);
  EXPECT_EQ(read(after.nodes("conv_weight_gradient")[1]), DType::f32);
}

TEST(Compute, IsSpelledAsElementTypes) {
  for (Compute compute : {Compute::f32, Compute::bf16}) EXPECT_EQ(parse_compute(to_string(compute)), compute);
  EXPECT_NE(test::error_of([] { parse_compute("int8"); }).find("known: f32, bf16"), std::string::npos);
}

}  // namespace
}  // namespace hone
