// How operators on single elements, reductions and products become ops, beyond what ONNX's own cases show: symbolic
// shapes, old versions, spellings that passes recognise.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/registry.h"
#include "ops/registry.h"
#include "passes/pipelines.h"
#include "passes/registry.h"
#include "tests/io/one_node.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

Tensor counting(std::vector<int64_t> shape) {
  Floats values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 2;
  return f32(std::move(shape), values);
}

TEST(OnnxSoftmax, BeforeVersion13DimensionsFromTheAxisOnAreOne) {
  const Graph graph = OneNode("Softmax", 11).input("f32[B,2,N]").graph();
  EXPECT_EQ(to_string(graph.type(graph.outputs()[0].value)), "f32[B,2,N]");
  EXPECT_EQ(run(graph, {f32({1, 2, 2}, {0, 0, 0, 0})})[0].to_floats(), (Floats{0.25f, 0.25f, 0.25f, 0.25f}));
  const Graph later = OneNode("Softmax", 13).input("f32[B,2,N]").graph();
  EXPECT_EQ(run(later, {f32({1, 2, 2}, {0, 0, 0, 0})})[0].to_floats(), (Floats{0.5f, 0.5f, 0.5f, 0.5f}));
}

TEST(OnnxHardmax, IsOneAtTheFirstOfTheLargest) {
  const Graph graph = OneNode("Hardmax", 13).input("f32[B,3]").graph();
  EXPECT_EQ(run(graph, {f32({2, 3}, {1, 5, 5, 9, 2, 3})})[0].to_floats(), (Floats{0, 1, 0, 1, 0, 0}));
}

TEST(OnnxAdd, BeforeVersion7TheAxisSaysWhereTheSecondOperandLies) {
  const Graph graph =
      OneNode("Add", 6).input("f32[2,2]").input("f32[2]").set("broadcast", 1).set("axis", int64_t{0}).graph();
  EXPECT_EQ(run(graph, {f32({2, 2}, {1, 2, 3, 4}), f32({2}, {10, 20})})[0].to_floats(), (Floats{11, 12, 23, 24}));
}

TEST(OnnxPRelu, BeforeVersion7ASlopePerChannelLiesAlongAxis1) {
  const Graph graph = OneNode("PRelu", 6).input("f32[1,2,2]").input("f32[2]").graph();
  EXPECT_EQ(run(graph, {f32({1, 2, 2}, {-1, -1, -1, 1}), f32({2}, {2, 3})})[0].to_floats(), (Floats{-2, -2, -3, 1}));
}

TEST(OnnxClip, ConstantBoundsBecomeAttributes) {
  const Graph graph = OneNode("Clip", 13).input("f32[3]").constant(f32({}, {0})).constant(f32({}, {6})).graph();
  ASSERT_EQ(graph.nodes().size(), 1u);
  EXPECT_EQ(graph.node(graph.nodes()[0]).attributes.get<double>("max"), 6);
  const Graph computed = OneNode("Clip", 13).input("f32[3]").input("f32[]").input("f32[]").graph();
  EXPECT_EQ(run(computed, {f32({3}, {-1, 2, 9}), f32({}, {0}), f32({}, {6})})[0].to_floats(), (Floats{0, 2, 6}));
}

TEST(OnnxGemm, OfWeightsIsRecognisedAsLinear) {
  for (const int64_t transposed : {0, 1}) {
    Graph graph = OneNode("Gemm", 13)
                      .input("f32[B,2]")
                      .constant(f32({2, 2}, {1, 2, 3, 4}))
                      .constant(f32({2}, {10, 20}))
                      .set("transB", transposed)
                      .graph();
    graph = find_def(passes::all(), "recognise_linear")->run(graph, {});
    ASSERT_EQ(graph.nodes().size(), 1u) << "transB " << transposed;
    EXPECT_STREQ(graph.node(graph.nodes()[0]).op->name, "linear");
    EXPECT_EQ(run(graph, {f32({1, 2}, {1, 1})})[0].to_floats(), transposed ? (Floats{13, 27}) : (Floats{14, 26}));
  }
}

TEST(OnnxGemm, DoesNotReadWhatABetaOf0Leaves) {
  const Tensor a = f32({1, 2}, {1, 2}), b = f32({2, 2}, {1, 2, 3, 4}), c = f32({1, 2}, {NAN, INFINITY});
  for (const char* op : {"Gemm", "FusedGemm"}) {
    OneNode gemm(op, 13);
    if (std::string_view(op) == "FusedGemm") gemm.domain("com.microsoft", 1).set("activation", "Relu");
    gemm.input("f32[1,2]").constant(b).constant(c).set("beta", 0.f);
    EXPECT_EQ(gemm.run({a})[0].to_floats(), (Floats{7, 10})) << op;
  }
  const Tensor nothing = OneNode("Gemm", 13).input("f32[1,2]").constant(b).set("alpha", 0.f).run({c})[0];
  for (float y : nothing.to_floats()) EXPECT_TRUE(std::isnan(y)) << "A and B are read whatever alpha is";
}

// Numbers other than 0 and 1, as ONNX Runtime takes them: for 0, for 1, or not at all.
TEST(OnnxFlags, OfOtherNumbersMeanWhatTheOperatorTakesThemFor) {
  for (const int64_t flag : {2, -1}) {
    EXPECT_EQ(OneNode("ReduceSum", 13).input("f32[2,3]").constant(i64({1}, {1})).set("keepdims", flag).type(),
              "f32[2]");
    EXPECT_EQ(OneNode("ArgMax", 13).input("f32[2,3]").set("axis", 1).set("keepdims", flag).type(), "i64[2]");
    const Tensor x = f32({3}, {1, 3, 3});
    EXPECT_EQ(OneNode("ArgMax", 13).input("f32[3]").set("select_last_index", flag).run({x})[0].to_integers(),
              (Integers{2}));
    EXPECT_EQ(
        OneNode("TopK", 11, 2).input("f32[3]").constant(i64({1}, {1})).set("largest", flag).run({x})[0].to_floats(),
        (Floats{1}));
    EXPECT_EQ(OneNode("Reshape", 14).input("f32[2,3]").constant(i64({2}, {0, 3})).set("allowzero", flag).type(),
              "f32[2,3]");
    EXPECT_EQ(OneNode("Gemm", 13).input("f32[2,3]").constant(counting({4, 3})).set("transB", flag).type(), "f32[2,4]");
    OneNode pool("MaxPool", 12);
    pool.input("f32[1,1,5,5]").set("kernel_shape", Integers{2, 2}).set("strides", Integers{2, 2});
    EXPECT_EQ(pool.set("ceil_mode", flag).type(), "f32[1,1,2,2]");
    const OneNode sum = OneNode("CumSum", 14).input("f32[3]").constant(i64({}, {0})).set("exclusive", flag);
    EXPECT_NE(test::error_of([&] { sum.import(); }).find("accepted: 0, 1"), std::string::npos);
  }
}

TEST(OnnxEinsum, AProductOfTwoOperandsIsAMatmul) {
  const struct {
    const char* equation;
    std::vector<int64_t> a, b;
  } kCases[] = {
      {"ij,jk->ik", {2, 3}, {3, 4}},
      {"bqhd,bkhd->bhqk", {2, 3, 2, 4}, {2, 5, 2, 4}},
      {"bhqk,bkhd->bqhd", {2, 2, 3, 5}, {2, 5, 2, 4}},
      {"...ij,...jk->...ik", {2, 2, 3}, {2, 3, 2}},
      {"i,j->ji", {2}, {3}},
      {"ijx,kj", {2, 3, 4}, {5, 3}},
      {"ij,ij->", {2, 3}, {2, 3}},
      {"ai,bi->i", {2, 3}, {4, 3}},
  };
  for (const auto& [equation, a, b] : kCases) {
    SCOPED_TRACE(equation);
    const std::string left = to_string(TensorType{.dtype = DType::f32, .shape = to_shape(a), .format = {}}),
                      right = to_string(TensorType{.dtype = DType::f32, .shape = to_shape(b), .format = {}});
    const Graph graph =
        run_pass(OneNode("Einsum", 12).input(left).input(right).set("equation", equation).graph(), "expand_einsum");
    EXPECT_EQ(graph.nodes("matmul").size(), 1u);
    EXPECT_EQ(graph.nodes("einsum").size(), 0u);
    const std::vector<Tensor> inputs{counting(a), counting(b)};
    const Tensor* operands[] = {&inputs[0], &inputs[1]};
    const Tensor want = evaluate_node(ops::get("einsum"), operands, {{"equation", std::string(equation)}})[0];
    EXPECT_TRUE(run(graph, inputs)[0].same_bits(want));  // whole numbers: exact
  }
}

TEST(OnnxEinsum, DiagonalsAndBroadcastDimensionsAreOtherOps) {
  OneNode diagonal("Einsum", 12), stretched("Einsum", 12);
  diagonal.input("f32[2,2]").input("f32[2]").set("equation", "ii,i->i");
  stretched.input("f32[1,2]").input("f32[3,2]").set("equation", "ij,ij->ij");
  EXPECT_EQ(run_pass(diagonal.graph(), "expand_einsum").nodes("einsum").size(), 0u);
  EXPECT_EQ(run_pass(stretched.graph(), "expand_einsum").nodes("einsum").size(), 0u);
}

TEST(OnnxReduce, LogSumExpOfInfinities) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Graph graph = OneNode("ReduceLogSumExp", 13).input("f32[3,2]").set("keepdims", int64_t{0}).graph();
  const Graph rows = OneNode("ReduceLogSumExp", 18).input("f32[N,2]").graph();
  EXPECT_FLOAT_EQ(run(graph, {f32({3, 2}, {1000, 1000, -kInfinity, 0, 0, 0})})[0].to_floats()[0],
                  1000 + std::log(2.0f));
  EXPECT_EQ(run(rows, {f32({1, 2}, {-kInfinity, -kInfinity})})[0].to_floats(), (Floats{-kInfinity}));
  EXPECT_EQ(run(rows, {f32({1, 2}, {kInfinity, 0})})[0].to_floats(), (Floats{kInfinity}));
}

TEST(OnnxLayerNormalisation, OverSeveralAxesWithAScaleThatBroadcasts) {
  const Graph graph = OneNode("LayerNormalization", 17, 3).input("f32[B,2,2]").input("f32[2]").set("axis", 1).graph();
  const std::vector<Tensor> y = run(graph, {f32({1, 2, 2}, {1, 3, 3, 1}), f32({2}, {1, 10})});
  EXPECT_NEAR(y[0].to_floats()[0], -1, 1e-4);
  EXPECT_NEAR(y[0].to_floats()[1], 10, 1e-3);
  EXPECT_EQ(y[1].to_floats(), (Floats{2}));
  EXPECT_EQ(y[1].shape(), (std::vector<int64_t>{1, 1, 1}));
  EXPECT_NEAR(y[2].to_floats()[0], 1, 1e-4);
}

TEST(OnnxDropout, IsNothingInInference) {
  const Graph graph = OneNode("Dropout", 13, 2).input("f32[B,2]").graph();
  const std::vector<Tensor> y = run(graph, {f32({1, 2}, {1, 2})});
  EXPECT_EQ(y[0].to_floats(), (Floats{1, 2}));
  EXPECT_EQ(y[1].to_integers(), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(y[1].dtype(), DType::boolean);
}

std::string import_error(const OneNode& node) {
  return test::error_of([&] { node.import(); });
}

TEST(OnnxPoints, AxesOutsideTheTensorAreErrors) {
  constexpr int64_t kFar = std::numeric_limits<int64_t>::min() + 1;
  for (const char* op : {"Softmax", "Hardmax", "LogSoftmax", "LpNormalization", "ArgMax"})
    for (int opset : {11, 13})
      EXPECT_NE(import_error(OneNode(op, opset).input("f32[2,3]").set("axis", kFar)).find("does not exist"),
                std::string::npos)
          << op << " of opset " << opset;
  EXPECT_NE(import_error(OneNode("Add", 6).input("f32[2,3]").input("f32[2]").set("axis", kFar)).find("does not fit"),
            std::string::npos);
  EXPECT_NE(
      import_error(OneNode("LayerNormalization", 17).input("f32[2,3]").input("f32[3]").set("axis", 2)).find("axis 2"),
      std::string::npos);
}

}  // namespace
}  // namespace hone
