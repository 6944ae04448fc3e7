// ops/calls/, which is generated: what a call by names becomes.
#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/concat.h"
#include "ops/calls/full.h"
#include "ops/calls/linear.h"
#include "ops/calls/pad.h"
#include "ops/calls/softmax.h"
#include "ops/calls/top_k.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "passes/match.h"
#include "tests/passes/parse_ops.h"

namespace hone::test {
namespace {

TEST(Calls, OperandsGoWhereTheirNamesSay) {
  Graph graph;
  const ValueId x = graph.add_input("x", {.dtype = DType::f32, .shape = {2, 3}});
  const ValueId w = graph.add_constant("w", Tensor(DType::f32, {4, 3}));
  const ValueId b = graph.add_constant("b", Tensor(DType::f32, {4}));
  const ValueId y = ops::linear(graph, {.x = x, .w = w, .b = b}, "y");
  EXPECT_EQ(graph.node(graph.producer(y)).op, &linear_def);
  EXPECT_EQ(graph.node(graph.producer(y)).operands, (std::vector{x, w, b}));
  EXPECT_EQ(graph.value(y).name, "y");
  EXPECT_EQ(graph.node(graph.producer(ops::add(graph, {y, b}))).operands, (std::vector{y, b}));
}

TEST(Calls, AbsentOperandsAtTheEndAreLeftOutAndOthersKeepTheirPlace) {
  const Call plain = ops::Linear{.x = 0, .w = 1};
  EXPECT_EQ(plain.operands, (std::vector<ValueId>{0, 1}));
  const Call with_value = ops::Pad{.x = 0, .value = 1};
  EXPECT_EQ(with_value.operands, (std::vector<ValueId>{0, 1}));
  const Call with_axes = ops::Pad{.x = 0, .computed_axes = 3};
  EXPECT_EQ(with_axes.operands, (std::vector<ValueId>{0, kNone, kNone, 3}));
  const Call joined = ops::Concat{.inputs = {3, 4, 5}, .axis = 1};
  EXPECT_EQ(joined.operands, (std::vector<ValueId>{3, 4, 5}));
  EXPECT_EQ(Call(ops::Full{.shape = Shape{2}, .value = 1.0}).operands, std::vector<ValueId>());
}

TEST(Calls, AttributesAreThoseThatWereGiven) {
  const Call call = ops::Softmax{.x = 0};
  EXPECT_TRUE(call.attributes.empty());
  const Call along = ops::Softmax{.x = 0, .axis = 1};
  EXPECT_EQ(along.attributes.items().size(), 1u);
  EXPECT_EQ(along.attributes.get<int64_t>("axis"), 1);
  const Call cast = ops::Cast{.x = 0, .dtype = DType::bf16};
  EXPECT_EQ(cast.attributes.get<DType>("dtype"), DType::bf16);
}

TEST(Calls, OpsOfSeveralResultsGiveThemAll) {
  Graph graph;
  const ValueId x = graph.add_input("x", {.dtype = DType::f32, .shape = {7}});
  const std::vector<ValueId> found = ops::top_k(graph, {.x = x, .k = Shape{3}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(to_string(graph.type(found[1])), "i64[3]");
}

TEST(Calls, ReplaceNodes) {
  Graph graph = parse("%x : f32[2,3] = input  %y = neg %x  return %y");
  const NodeId neg = graph.producer(graph.outputs()[0].value);
  replace_node(graph, neg, ops::Gelu{.x = graph.inputs()[0], .approximate = "tanh"});
  verify(graph);
  EXPECT_EQ(graph.nodes(gelu_def).size(), 1u);
  EXPECT_EQ(graph.value(graph.outputs()[0].value).name, "y");
}

}  // namespace
}  // namespace hone::test
