#include "ir/graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/ir/test_ops.h"

namespace hone {
namespace {

using test::error_of;
using test::parse;

constexpr const char* kSum = R"(
  %x : f32[B,4] = input "x"
  %y = add %x, 1.0
  %z = mul %y, %y
  return %z as "out"
)";

TEST(Graph, InfersTheBroadcastShapeAndTheDtypeOfPointwiseOps) {
  Graph g;
  const ValueId x = g.add_input("x", parse_type("bf16[B,1,4]")), y = g.add_input("y", parse_type("bf16[S,4]"));
  EXPECT_EQ(to_string(g.type(g.emit(test::add_def, {x, y}))), "bf16[B,S,4]");
  EXPECT_EQ(to_string(g.type(g.emit(test::less_def, {x, y}))), "bool[B,S,4]");
  EXPECT_EQ(to_string(g.type(g.emit(test::cast_def, {x}, {{"dtype", DType::i64}}))), "i64[B,1,4]");
  verify(g);
}

TEST(Graph, NamesOpAndOperandsWhenTheyDoNotFit) {
  Graph g;
  const ValueId x = g.add_input("x", parse_type("f32[3]")), y = g.add_input("y", parse_type("f32[4]"));
  const ValueId i = g.add_input("i", parse_type("i64[3]"));
  EXPECT_NE(error_of([&] { g.emit(test::add_def, {x, y}); }).find("add(f32[3], f32[4])"), std::string::npos);
  EXPECT_NE(error_of([&] { g.emit(test::add_def, {x, i}); }).find("f32, i64"), std::string::npos);
  EXPECT_NE(error_of([&] { g.emit(test::add_def, {x}); }).find("takes 2 operands"), std::string::npos);
  EXPECT_NE(error_of([&] { g.emit(test::add_def, {x, kNone}); }).find("operand 1 (b) is required"), std::string::npos);
  EXPECT_NE(error_of([&] { g.emit(test::cast_def, {x}); }).find("dtype"), std::string::npos);
  EXPECT_NE(error_of([&] {
              g.emit(test::cast_def, {x}, {{"dtipe", DType::i64}});
            }).find("Did you mean dtype"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              g.emit(test::cast_def, {x}, {{"dtype", int64_t{1}}});
            }).find("expected a element type"),
            std::string::npos);
}

TEST(Graph, IntegersServeAsNumbersDimensionsAndShapes) {
  Graph g;
  const NodeId n =
      g.add_node(test::every_def, {}, {{"n", int64_t{2}}, {"dim", int64_t{3}}, {"shape", std::vector<int64_t>{4}}});
  EXPECT_EQ(g.node(n).attributes.get<double>("n"), 2.0);
  EXPECT_EQ(g.node(n).attributes.get<Dim>("dim"), Dim(3));
  EXPECT_EQ(g.node(n).attributes.get<Shape>("shape"), Shape{4});
}

TEST(Graph, MakesNamesUnique) {
  Graph g;
  const ValueId a = g.add_constant("w/1", Tensor::scalar(1.f)), b = g.add_constant("w/1", Tensor::scalar(2.f));
  EXPECT_EQ(g.value(a).name, "w_1");
  EXPECT_EQ(g.value(b).name, "w_1_1");
  EXPECT_EQ(g.find_value("w_1_1"), b);
  EXPECT_EQ(g.find_constant("w/1"), a);
  g.add_input("x", parse_type("f32[1]"));
  EXPECT_THROW(g.add_input("x", parse_type("f32[1]")), Error);
}

TEST(Graph, ErasingAUsedNodeListsItsUsers) {
  Graph g = parse(kSum);
  const std::string why = error_of([&] { g.erase(g.nodes("add")[0]); });
  EXPECT_NE(why.find("mul %y, %y"), std::string::npos) << why;
  EXPECT_NE(error_of([&] { g.erase(g.nodes("mul")[0]); }).find("return %z as \"out\""), std::string::npos);
  EXPECT_NE(error_of([&] { g.erase_input(g.inputs()[0]); }).find("add %x"), std::string::npos);
}

TEST(Graph, ReplacesUsesInNodesAndOutputs) {
  Graph g = parse(kSum);
  const NodeId mul = g.nodes("mul")[0], add = g.nodes("add")[0];
  g.replace_all_uses(g.result(mul), g.result(add));
  g.erase(mul);
  EXPECT_EQ(g.outputs()[0].value, g.result(add));
  g.replace_all_uses(g.result(add), g.inputs()[0]);
  g.erase(add);
  g.erase_unused_constants();
  EXPECT_TRUE(g.nodes().empty());
  EXPECT_TRUE(g.constants().empty());
  verify(g);
}

TEST(Graph, InsertsBeforeThePoint) {
  Graph g = parse(kSum);
  g.set_insertion_point(g.nodes("mul")[0]);
  const ValueId extra = g.emit(test::add_def, {g.inputs()[0], g.inputs()[0]});
  g.set_operand(g.nodes("mul")[0], 1, extra);
  verify(g);
}

TEST(Graph, CompactKeepsTheText) {
  Graph g = parse(kSum);
  g.erase(g.add_node(test::add_def, {g.inputs()[0], g.inputs()[0]}));
  const std::string before = print(g);
  const size_t capacity = g.value_capacity();
  g.compact();
  EXPECT_EQ(print(g), before);
  EXPECT_EQ(g.value_capacity(), capacity - 1);
  verify(g);
}

TEST(Graph, CopiesAreIndependent) {
  const Graph g = parse(kSum);
  Graph copy = g;
  copy.set_constant(copy.constants()[0], Tensor::scalar(5.f));
  EXPECT_EQ(g.constant(g.constants()[0])->to_floats()[0], 1);
}

TEST(Graph, CountsUses) {
  const Graph g = parse(kSum);
  const ValueId y = g.find_value("y"), z = g.find_value("z");
  EXPECT_EQ(g.use_count(y), 2);
  EXPECT_EQ(g.use_count(z), 1);
  EXPECT_EQ(g.all_uses()[static_cast<size_t>(y)].size(), 2u);
}

void expect_counts_as_swept(const Graph& g) {
  const std::vector<std::vector<Graph::Use>> swept = g.all_uses();
  for (size_t v = 0; v < g.value_capacity(); ++v) {
    const auto id = static_cast<ValueId>(v);
    const auto outputs =
        std::count_if(g.outputs().begin(), g.outputs().end(), [&](const Output& o) { return o.value == id; });
    EXPECT_EQ(g.uses(id).size(), swept[v].size());
    EXPECT_EQ(g.use_count(id), static_cast<int>(swept[v].size()) + static_cast<int>(outputs));
  }
}

// Who reads a value is kept along, through edits in any order.
TEST(Graph, KnowsTheReadersOfAValueAfterEdits) {
  Graph g;
  const ValueId x = g.add_input("x", parse_type("f32[2]")), y = g.add_input("y", parse_type("f32[2]"));
  std::vector<NodeId> nodes;
  for (int i = 0; i < 60; ++i) nodes.push_back(g.add_node(test::add_def, {x, i % 3 == 0 ? x : y}));
  g.add_output(g.result(nodes[7]), "a");
  g.add_output(x, "b");
  expect_counts_as_swept(g);
  for (int i = 0; i < 60; i += 2) g.erase(nodes[static_cast<size_t>(i)]);
  expect_counts_as_swept(g);
  for (int i = 1; i < 30; i += 2) g.set_operand(nodes[static_cast<size_t>(i)], 1, i % 4 == 1 ? x : y);
  g.set_insertion_point(nodes[1]);
  const ValueId first = g.emit(test::add_def, {x, x});
  g.replace_all_uses(y, first);
  expect_counts_as_swept(g);
  g.set_insertion_point(kNone);
  g.replace_all_uses(g.result(nodes[7]), first);
  g.erase(nodes[7]);
  g.set_outputs({{first, "c"}});
  expect_counts_as_swept(g);
  g.compact();
  expect_counts_as_swept(g);
  EXPECT_EQ(g.use_count(g.inputs()[1]), 0);
}

TEST(Graph, ReferencesLastWhileMoreIsAdded) {
  Graph g;
  const ValueId x = g.add_input("x", parse_type("f32[2,3]"));
  const Shape& shape = g.type(x).shape;
  const Node& node = g.node(g.add_node(test::add_def, {x, x}));
  for (int i = 0; i < 1000; ++i) g.add_node(test::add_def, {x, x});
  EXPECT_EQ(shape[1], Dim(3));
  EXPECT_EQ(node.operands[1], x);
}

TEST(Graph, LabelsOfErasedInputsAndOutputsMayBeUsedAgain) {
  Graph g;
  g.erase_input(g.add_input("x", parse_type("f32[2]")));
  const ValueId x = g.add_input("x", parse_type("f32[2]"));
  g.add_output(x, "y");
  g.set_outputs({});
  g.add_output(x, "y");
  EXPECT_THROW(g.add_output(x, "y"), Error);
}

TEST(Verify, FindsUseBeforeDefinition) {
  Graph g = parse(kSum);
  g.set_operand(g.nodes("add")[0], 1, g.find_value("z"));
  EXPECT_THROW(verify(g), Bug);
}

TEST(Verify, FindsAWrongType) {
  Graph g = parse(kSum);
  g.set_input_type(g.inputs()[0], parse_type("f32[B,5]"));
  EXPECT_THROW(verify(g), Bug);
  g.reinfer();
  verify(g);
}

TEST(Verify, FindsAnUnknownAttribute) {
  Graph g = parse(kSum);
  g.set_attribute(g.nodes("add")[0], "axis", int64_t{1});
  EXPECT_THROW(verify(g), Bug);
}

// Two sizes broadcast to one that has a name of its own, until one of them turns out to be 1.
TEST(Graph, ASizeThatIsAnotherOnceSizesAreKnownHasItsNameInAttributesToo) {
  Graph g = parse(R"(
    %x : f32[S] = input "x"  %y : f32[_1] = input "y"
    %z = add %x, %y
    %r = reshape %z {shape=[_2,1]}
    return %r)");
  const ValueId r = g.outputs()[0].value;
  EXPECT_EQ(to_string(g.type(r)), "f32[_2,1]");
  const Graph fixed = specialise(g, {{"S", 1}});
  EXPECT_EQ(to_string(fixed.type(fixed.outputs()[0].value)), "f32[_1,1]");
  g.set_input_type(g.inputs()[0], parse_type("f32[1]"));
  g.reinfer();
  EXPECT_EQ(to_string(g.type(r)), "f32[_1,1]");
  verify(g);
}

TEST(Specialise, BindsSymbolsInTypesAndAttributes) {
  const Graph g = parse("%x : f32[B,S] = input %r = reshape %x {shape=[B*S]} return %r");
  const Graph s = specialise(g, {{"B", 2}, {"S", 3}});
  EXPECT_EQ(to_string(s.type(s.find_value("r"))), "f32[6]");
  EXPECT_EQ(to_string(specialise(g, {{"B", 2}}).type(g.find_value("r"))), "f32[2*S]");
  verify(s);
}

TEST(Sizes, CountsFloatsAsParametersAndAllBytes) {
  Graph g;
  g.add_constant("w", Tensor(DType::f32, {2, 3}));
  g.add_constant("p", pack(parse_format("mxint8"), Tensor(DType::f32, {2, 32})));
  g.add_constant("ids", Tensor(DType::i64, {5}));
  EXPECT_EQ(sizes(g).parameters, 6 + 64);
  EXPECT_EQ(sizes(g).weight_bytes, 24 + 66 + 40);
}

// A model's own scalar (a learned temperature) is named in its file; a literal of the graph's arithmetic is not.
TEST(Sizes, CountsNamedScalarsButNoLiterals) {
  Graph g;
  g.add_constant("temperature", Tensor::scalar<float>(0.07f));
  g.add_scalar<float>(1);
  g.add_constant("", Tensor(DType::f32, {2}));
  EXPECT_EQ(sizes(g).parameters, 3);
  EXPECT_EQ(sizes(g).weight_bytes, 12);
}

}  // namespace
}  // namespace hone
