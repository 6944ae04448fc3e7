// Graphs of include/hone: any operation by name, what is read of a graph, and changes that do not fit.
#include <hone/graph.h>

#include <algorithm>

#include "tests/api/error_of.h"

namespace {

using api_test::error_of;
using hone::Graph;
using hone::Tensor;
using hone::ValueId;
using testing::ElementsAre;
using testing::HasSubstr;

// y = relu(x) * 2
struct Small {
  Graph graph;
  ValueId x, r, two, y;
};
Small small() {
  Small s{Graph("small"), 0, 0, 0, 0};
  s.x = s.graph.add_input("x", "f32[B,3]");
  s.r = s.graph.add_node("relu", {s.x})[0];
  const float two = 2;
  s.two = s.graph.add_constant("two", Tensor::of<float>({}, std::span(&two, 1)));
  s.y = s.graph.add_node("mul", {s.r, s.two})[0];
  s.graph.add_output(s.y, "y");
  return s;
}

TEST(ApiGraph, EveryOperationIsListedAndFoundByName) {
  const std::vector<hone::OpInfo> ops = hone::list_ops();
  EXPECT_GT(ops.size(), 200u);
  for (const hone::OpInfo& op : ops) EXPECT_EQ(hone::op_info(op.name).doc, op.doc);
  const hone::OpInfo linear = hone::op_info("linear");
  ASSERT_EQ(linear.operands.size(), 3u);
  EXPECT_TRUE(linear.operands[1].weight);
  EXPECT_EQ(linear.operands[2].count, hone::OperandCount::optional);
  EXPECT_THAT(error_of([] { hone::op_info("linea"); }), HasSubstr("linear"));
  EXPECT_FALSE(hone::list_passes().empty());
}

TEST(ApiGraph, ABuiltGraphIsReadAndComesBackFromItsText) {
  const Small s = small();
  EXPECT_THAT(s.graph.inputs(), ElementsAre(s.x));
  EXPECT_EQ(s.graph.value(s.y).type, "f32[B,3]");
  EXPECT_THAT(s.graph.value(s.y).shape, ElementsAre("B", "3"));
  const hone::NodeInfo node = s.graph.node(s.graph.value(s.y).node);
  EXPECT_EQ(node.op, "mul");
  EXPECT_THAT(node.operands, ElementsAre(s.r, s.two));
  ASSERT_EQ(s.graph.users(s.r).size(), 1u);
  EXPECT_EQ(s.graph.users(s.r)[0].node, s.graph.value(s.y).node);
  EXPECT_EQ(Graph::parse(s.graph.text()).text(), s.graph.text());
  EXPECT_THAT(error_of([] { Graph::parse("graph g {\n  %x = nothing %y\n}"); }), HasSubstr("2"));
}

TEST(ApiGraph, AttributesAreTextsNumbersAndLists) {
  Graph graph;
  const ValueId x = graph.add_input("x", "f32[B,4]");
  const ValueId shaped = graph.add_node("reshape", {x}, {{"shape", std::string("[B,2,2]")}})[0];
  EXPECT_EQ(graph.value(shaped).type, "f32[B,2,2]");
  const ValueId cast = graph.add_node("cast", {shaped}, {{"dtype", std::string("i32")}})[0];
  EXPECT_EQ(graph.value(cast).dtype, hone::DType::i32);
  const hone::NodeInfo node = graph.node(graph.value(cast).node);
  EXPECT_EQ(std::get<std::string>(node.attributes.at("dtype")), "i32");
  EXPECT_NE(error_of([&] { graph.add_node("cast", {x}, {{"dtype", std::string("i33")}}); }), "");
  EXPECT_NE(error_of([&] { graph.add_node("cast", {x}, {{"two", std::string("i32")}}); }), "");
  EXPECT_NE(error_of([&] { graph.add_node("cast", {x}, {{"dtype", 1.5}}); }), "");
}

TEST(ApiGraph, WhatDoesNotFitIsAnErrorAndChangesNothing) {
  Small s = small();
  const std::string before = s.graph.text();
  const hone::NodeId mul = s.graph.value(s.y).node, relu = s.graph.value(s.r).node;
  EXPECT_NE(error_of([&] { s.graph.add_node("relu", {99}); }), "");
  EXPECT_NE(error_of([&] { s.graph.add_node("relu", {s.x, s.x}); }), "");
  EXPECT_NE(error_of([&] { s.graph.add_node("if", {s.x}); }), "");
  EXPECT_NE(error_of([&] { s.graph.value(-5); }), "");
  EXPECT_NE(error_of([&] { s.graph.node(99); }), "");
  EXPECT_NE(error_of([&] { s.graph.set_operand(mul, 2, s.x); }), "");
  EXPECT_THAT(error_of([&] { s.graph.set_operand(relu, 0, s.y); }), HasSubstr("after"));
  EXPECT_THAT(error_of([&] { s.graph.replace_all_uses(s.x, s.y); }), HasSubstr("after"));
  EXPECT_THAT(error_of([&] { s.graph.erase_node(relu); }), HasSubstr("used"));
  EXPECT_NE(error_of([&] { s.graph.erase_input(s.x); }), "");
  EXPECT_NE(error_of([&] { s.graph.set_constant(s.x, Tensor()); }), "");
  EXPECT_NE(error_of([&] { s.graph.add_input("x", "f32[1]"); }), "");
  EXPECT_NE(error_of([&] { s.graph.add_input("z", "f33[1]"); }), "");
  EXPECT_NE(error_of([&] { s.graph.add_update(s.x, s.y); }), "");
  EXPECT_EQ(s.graph.text(), before);
}

TEST(ApiGraph, NodesGoBeforeTheInsertionPoint) {
  Small s = small();
  const hone::NodeId mul = s.graph.value(s.y).node;
  s.graph.set_insertion_point(mul);
  const ValueId tanh = s.graph.add_node("tanh", {s.r})[0];
  s.graph.set_operand(mul, 0, tanh);
  EXPECT_EQ(s.graph.nodes().back(), mul);
  s.graph.verify();
  const std::string before = s.graph.text();
  EXPECT_THAT(error_of([&] { s.graph.add_node("tanh", {s.y}); }), HasSubstr("after"));
  EXPECT_EQ(s.graph.text(), before);
  EXPECT_NE(error_of([&] { s.graph.set_insertion_point(99); }), "");
  s.graph.set_insertion_point(hone::kAbsent);
  s.graph.add_node("tanh", {s.y});
  s.graph.verify();
}

TEST(ApiGraph, ACopyDoesNotSeeLaterChanges) {
  Small s = small();
  const Graph copy = s.graph;
  s.graph.replace_all_uses(s.r, s.x);
  s.graph.erase_node(s.graph.value(s.r).node);
  EXPECT_EQ(s.graph.nodes().size(), 1u);
  EXPECT_EQ(copy.nodes().size(), 2u);
  s.graph.verify();
}

TEST(ApiGraph, PassesRunByName) {
  const Small s = small();
  EXPECT_EQ(s.graph.with_sizes({{"B", 2}}).value(s.y).type, "f32[2,3]");
  EXPECT_NE(error_of([&] { s.graph.with_sizes({{"C", 2}}); }), "");
  EXPECT_FALSE(s.graph.after_passes({"remove_dead"}).nodes().empty());
  EXPECT_THAT(error_of([&] { s.graph.after_passes({"remove_dea"}); }), HasSubstr("remove_dead"));
}

}  // namespace
