// Operators of opsets 24 and after, of ai.onnx.ml, and attention whose heads are known at run time: how they become
// ops, beyond what the cases of the standard show.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>

#include "tests/io/one_node.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

std::string error_of(const OneNode& node) {
  return test::error_of([&] { node.import(); });
}

TEST(OnnxCast, ToPowersOfTwoRoundsUpUnlessTold) {
  const auto cast = [](const char* round) {
    OneNode node("Cast", 24);
    node.input("f32[2]").set("to", int64_t{onnx::TensorProto::FLOAT8E8M0});
    if (round) node.set("round_mode", round);
    return node.run({f32({2}, {3, 2.5f})})[0].to_floats();
  };
  EXPECT_EQ(cast(nullptr), (Floats{4, 4}));
  EXPECT_EQ(cast("nearest"), (Floats{4, 2}));
  EXPECT_EQ(cast("down"), (Floats{2, 2}));
}

TEST(OnnxCast, ToTwoBitsKeepsTheLowBits) {
  OneNode node("Cast", 25);
  node.input("f32[4]").set("to", int64_t{onnx::TensorProto::INT2});
  EXPECT_EQ(node.run({f32({4}, {1, 2, 3, -3})})[0].to_integers(), (Integers{1, -2, -1, 1}));
}

TEST(OnnxQuantizeLinear, ReadsScalesThatArePowersOfTwo) {
  const Tensor scale = Tensor::from_floats(DType::f8e8m0, {}, std::vector<float>{0.25f});
  OneNode to("QuantizeLinear", 24);
  to.input("f32[2]").constant(scale).constant(Tensor(DType::i8, {}));
  EXPECT_EQ(to.run({f32({2}, {1, -0.6f})})[0].to_integers(), (Integers{4, -2}));
  OneNode from("DequantizeLinear", 24);
  from.input("i8[2]").constant(scale).set("output_dtype", int64_t{onnx::TensorProto::FLOAT});
  EXPECT_EQ(from.run({i64({2}, {4, -2}).converted(DType::i8)})[0].to_floats(), (Floats{1, -0.5f}));
}

// --- Dropout ---------------------------------------------------------------------------------------------------------

TEST(OnnxDropout, IsDecidedAtRunTimeWhereTrainingIsComputed) {
  OneNode node("Dropout", 13, 2);
  node.input("f32[1000]").constant(f32({}, {0.25f})).input("bool[]");
  const Graph graph = node.graph();
  const Tensor x = f32({1000}, Floats(1000, 3));
  const std::vector<Tensor> inference = run(graph, {x, Tensor::scalar(false)});
  EXPECT_TRUE(inference[0].same_bits(x));
  EXPECT_EQ(inference[1].to_integers(), Integers(1000, 1));
  const std::vector<Tensor> training = run(graph, {x, Tensor::scalar(true)});
  int64_t kept = 0;
  for (size_t i = 0; i < 1000; ++i) {
    const bool is_kept = training[1].to_integers()[i] != 0;
    kept += is_kept;
    EXPECT_FLOAT_EQ(training[0].to_floats()[i], is_kept ? 4.0f : 0.0f);
  }
  EXPECT_NEAR(static_cast<double>(kept), 750, 60);  // four standard deviations of 13.7
}

// --- Attention -------------------------------------------------------------------------------------------------------

Tensor numbers(Integers shape, float first) {
  Floats values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(first + static_cast<float>(i));
  return f32(std::move(shape), values);
}

// The same node with sizes that are numbers and with sizes that are symbols.
void expect_same_when_symbolic(const std::vector<Tensor>& inputs, const std::vector<std::string>& symbolic,
                               const std::function<void(OneNode&)>& attributes) {
  std::vector<std::vector<Tensor>> results;
  for (bool is_symbolic : {false, true}) {
    OneNode node("Attention", 25, 4);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].elements() == 0) node.absent();
      else node.input(is_symbolic ? symbolic[i] : to_string(inputs[i].type()));
    attributes(node);
    std::vector<Tensor> given;
    for (const Tensor& input : inputs)
      if (input.elements() > 0) given.push_back(input);
    results.push_back(node.run(given));
  }
  for (size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(results[0][i].shape(), results[1][i].shape());
    const Floats a = results[0][i].to_floats(), b = results[1][i].to_floats();
    for (size_t j = 0; j < a.size(); ++j) EXPECT_TRUE(a[j] == b[j] || std::abs(a[j] - b[j]) < 1e-5f) << i << " " << j;
  }
}

TEST(OnnxAttention, HeadsMayBeKnownOnlyAtRunTime) {
  const Tensor q = numbers({2, 4, 3, 8}, 0), k = numbers({2, 4, 5, 8}, 1), v = numbers({2, 4, 5, 6}, 2);
  const std::vector<std::string> symbols{"f32[B,H,S,D]", "f32[B,H,T,D]", "f32[B,H,T,E]"};
  expect_same_when_symbolic({q, k, v}, symbols, [](OneNode&) {});
  expect_same_when_symbolic({q, k, v}, symbols, [](OneNode& n) { n.set("is_causal", int64_t{1}); });
  expect_same_when_symbolic({q, k, v}, symbols, [](OneNode& n) { n.set("qk_matmul_output_mode", int64_t{3}); });
}

TEST(OnnxAttention, HeadsOfKeysMayBeSharedByANumberThatIsKnownAtRunTime) {
  const Tensor q = numbers({1, 6, 3, 4}, 0), k = numbers({1, 2, 3, 4}, 1), v = numbers({1, 2, 3, 4}, 2);
  expect_same_when_symbolic({q, k, v}, {"f32[B,H,S,D]", "f32[B,G,T,D]", "f32[B,G,T,D]"},
                            [](OneNode& n) { n.set("is_causal", int64_t{1}); });
}

TEST(OnnxAttention, MasksMayHaveSizesOfTheirOwn) {
  const Tensor q = numbers({2, 2, 3, 4}, 0), k = numbers({2, 2, 5, 4}, 1), v = numbers({2, 2, 5, 4}, 2);
  Tensor mask = numbers({2, 1, 3, 5}, 3);
  expect_same_when_symbolic({q, k, v, mask}, {"f32[B,2,S,4]", "f32[B,2,T,4]", "f32[B,2,T,4]", "f32[M,O,P,R]"},
                            [](OneNode&) {});
  const Tensor seen = Tensor::of<bool>({3, 5}, std::vector<bool>(15, true));
  expect_same_when_symbolic({q, k, v, seen}, {"f32[B,H,S,4]", "f32[B,H,T,4]", "f32[B,H,T,4]", "bool[P,R]"},
                            [](OneNode& n) { n.set("is_causal", int64_t{1}); });
}

TEST(OnnxAttention, QueriesThatSeeNoKeyGiveZeros) {
  OneNode node("Attention", 25);
  node.input("f32[1,1,2,1]").input("f32[1,1,2,1]").input("f32[1,1,2,1]").absent().absent().absent();
  node.constant(i64({1}, {1})).set("is_causal", int64_t{1});  // one valid key: query 0 stands before it
  EXPECT_EQ(node.run({f32({1, 1, 2, 1}, {1, 2}), f32({1, 1, 2, 1}, {1, 2}), f32({1, 1, 2, 1}, {5, 7})})[0].to_floats(),
            (Floats{0, 5}));
}

TEST(OnnxAttention, RefusesHeadsThatDoNotGoTogether) {
  const auto heads = [](int64_t queries, int64_t keys) {
    OneNode node("Attention", 23);
    node.input("f32[1,2,6]").input("f32[1,2,6]").input("f32[1,2,6]");
    node.set("q_num_heads", queries).set("kv_num_heads", keys);
    return error_of(node);
  };
  EXPECT_NE(heads(0, 1).find("q_num_heads is 0; accepted: 1 or more"), std::string::npos);
  EXPECT_NE(heads(1, -1).find("kv_num_heads is -1"), std::string::npos);
  EXPECT_NE(heads(3, 2), "");
  EXPECT_NE(heads(INT64_MAX, INT64_MAX), "");
}

// --- ai.onnx.ml ------------------------------------------------------------------------------------------------------

OneNode ml(const char* op, int version, int outputs = 1) {
  OneNode node(op, 18, outputs);
  node.domain("ai.onnx.ml", version);
  return node;
}

TEST(OnnxLabelEncoder, MapsKeysOfOneListToValuesOfAnother) {
  OneNode node = ml("LabelEncoder", 2);
  node.input("string[3]").set("keys_strings", std::vector<std::string>{"a", "b"}).set("values_floats", Floats{1, 2});
  const Tensor words = Tensor::strings({3}, {"b", "?", "a"});
  EXPECT_EQ(node.run({words})[0].to_floats(), (Floats{2, -0.0f, 1}));
  node.set("default_float", 9.0f);
  EXPECT_EQ(node.run({words})[0].to_floats(), (Floats{2, 9, 1}));
  node.set("keys_int64s", Integers{1, 2});
  EXPECT_NE(error_of(node).find("2 of the attributes keys_strings"), std::string::npos);
}

TEST(OnnxLabelEncoder, OfVersion1GoesBothWays) {
  const std::vector<std::string> classes{"x", "y"};
  OneNode to = ml("LabelEncoder", 1), back = ml("LabelEncoder", 1);
  to.input("string[2]").set("classes_strings", classes);
  back.input("i64[2]").set("classes_strings", classes);
  EXPECT_EQ(to.run({Tensor::strings({2}, {"y", "z"})})[0].to_integers(), (Integers{1, -1}));
  EXPECT_EQ(back.run({i64({2}, {0, 7})})[0].string_values(), (std::vector<std::string>{"x", "_Unused"}));
}

// x0 <= 0.5 ? 10 : 20, a tree of three nodes.
OneNode regressor() {
  OneNode node = ml("TreeEnsembleRegressor", 1);
  node.input("f32[N,1]").set("n_targets", int64_t{1});
  node.set("nodes_treeids", Integers{0, 0, 0}).set("nodes_nodeids", Integers{0, 1, 2});
  node.set("nodes_featureids", Integers{0, 0, 0}).set("nodes_values", Floats{0.5f, 0, 0});
  node.set("nodes_modes", std::vector<std::string>{"BRANCH_LEQ", "LEAF", "LEAF"});
  node.set("target_treeids", Integers{0, 0}).set("target_nodeids", Integers{1, 2});
  node.set("target_ids", Integers{0, 0}).set("target_weights", Floats{10, 20});
  return node;
}

TEST(OnnxTrees, RegressorsSumTheWeightsOfLeaves) {
  OneNode node = regressor();
  node.set("nodes_truenodeids", Integers{1, 0, 0}).set("nodes_falsenodeids", Integers{2, 0, 0});
  EXPECT_EQ(node.run({f32({2, 1}, {0, 1})})[0].to_floats(), (Floats{10, 20}));
  node.set("base_values", Floats{1});
  EXPECT_EQ(node.run({f32({2, 1}, {0, 1})})[0].to_floats(), (Floats{11, 21}));
}

TEST(OnnxTrees, TablesThatLeadNowhereAreRefused) {
  OneNode nowhere = regressor(), short_list = regressor(), cycle = regressor();
  nowhere.set("nodes_truenodeids", Integers{1, 0, 0}).set("nodes_falsenodeids", Integers{7, 0, 0});
  EXPECT_NE(error_of(nowhere).find("a branch is node 7 of tree 0, which is not in nodes_nodeids"), std::string::npos);
  short_list.set("nodes_truenodeids", Integers{1, 0}).set("nodes_falsenodeids", Integers{2, 0, 0});
  EXPECT_NE(error_of(short_list).find("has 2 elements"), std::string::npos);
  cycle.set("nodes_truenodeids", Integers{0, 0, 0}).set("nodes_falsenodeids", Integers{2, 0, 0});
  EXPECT_NE(test::error_of([&] { cycle.run({f32({1, 1}, {0})}); }).find("below itself"), std::string::npos);
}

}  // namespace
}  // namespace hone
