// Sequences and optionals.
#include <gtest/gtest.h>

#include "tests/ops/call.h"
#include "tests/passes/parse_ops.h"

namespace hone {
namespace {

Tensor number(float value) { return f32({}, {value}); }
Tensor position(int64_t value) { return i64({}, {value}); }
Tensor numbers(const Floats& values) {
  std::vector<Tensor> items;
  for (float value : values) items.push_back(number(value));
  return Tensor::sequence(DType::f32, items);
}
Floats values_of(const Tensor& sequence) {
  Floats values;
  for (const Tensor& item : sequence.items()) values.push_back(item.to_floats().at(0));
  return values;
}

TEST(Sequence, GrowsAndShrinks) {
  const Tensor three = call("sequence_construct", {number(1), number(2), number(3)});
  EXPECT_EQ(values_of(three), (Floats{1, 2, 3}));
  EXPECT_EQ(values_of(call("sequence_insert", {three, number(9)})), (Floats{1, 2, 3, 9}));
  EXPECT_EQ(values_of(call("sequence_insert", {three, number(9), position(-1)})), (Floats{1, 2, 9, 3}));
  EXPECT_EQ(values_of(call("sequence_insert", {three, number(9), position(3)})), (Floats{1, 2, 3, 9}));
  EXPECT_EQ(values_of(call("sequence_erase", {three})), (Floats{1, 2}));
  EXPECT_EQ(values_of(call("sequence_erase", {three, position(-3)})), (Floats{2, 3}));
  EXPECT_EQ(call("sequence_length", {three}).to_integers(), (Ints{3}));
  EXPECT_EQ(call("sequence_length", {call("sequence_empty", {}, {{"dtype", DType::i8}})}).to_integers(), (Ints{0}));
}

TEST(Sequence, ItemsAreFoundFromBothEnds) {
  EXPECT_EQ(call("sequence_at", {numbers({1, 2}), position(1)}).to_floats(), (Floats{2}));
  EXPECT_EQ(call("sequence_at", {numbers({1, 2}), position(-2)}).to_floats(), (Floats{1}));
}

TEST(Sequence, SaysWhatDoesNotFit) {
  const Tensor two = numbers({1, 2});
  EXPECT_NE(error_of("sequence_at", {two, position(2)}).find("accepted: -2 to 1"), std::string::npos);
  EXPECT_NE(error_of("sequence_insert", {two, number(1), position(3)}).find("accepted: -2 to 2"), std::string::npos);
  EXPECT_NE(error_of("sequence_erase", {numbers({})}).find("out of range for 0 items"), std::string::npos);
  EXPECT_NE(error_of("sequence_insert", {two, i64({}, {1})}).find("accepted: tensors of f32"), std::string::npos);
  EXPECT_NE(error_of("sequence_construct", {number(1), i64({}, {1})}).find("accepted: tensors of f32"),
            std::string::npos);
  EXPECT_NE(error_of("sequence_length", {number(1)}).find("accepted: a sequence"), std::string::npos);
}

std::vector<Sizes64> shapes_of(const Tensor& sequence) {
  std::vector<Sizes64> shapes;
  for (const Tensor& item : sequence.items()) shapes.push_back(item.shape());
  return shapes;
}

TEST(Sequence, ATensorIsCutIntoPartsAndPutTogetherAgain) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Attributes columns{{"axis", int64_t{-1}}};
  const Tensor parts = call("sequence_split", {x, position(2)}, columns);
  EXPECT_EQ(shapes_of(parts), (std::vector<Sizes64>{{2, 2}, {2, 1}}));
  EXPECT_EQ(parts.items()[1].to_floats(), (Floats{3, 6}));
  EXPECT_TRUE(call("sequence_concat", {parts}, columns).same_bits(x));
  EXPECT_EQ(shapes_of(call("sequence_split", {x, i64({2}, {0, 2})})), (std::vector<Sizes64>{{0, 3}, {2, 3}}));
  EXPECT_EQ(shapes_of(call("sequence_split", {x})), (std::vector<Sizes64>{{1, 3}, {1, 3}}));
  const Tensor rows = call("sequence_split", {x}, {{"keepdims", int64_t{0}}});
  EXPECT_EQ(shapes_of(rows), (std::vector<Sizes64>{{3}, {3}}));
  EXPECT_TRUE(call("sequence_concat", {rows}, {{"axis", int64_t{0}}, {"new_axis", int64_t{1}}}).same_bits(x));
  EXPECT_EQ(call("sequence_concat", {rows}, {{"axis", int64_t{-1}}, {"new_axis", int64_t{1}}}).to_floats(),
            (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_NE(error_of("sequence_split", {x, i64({2}, {1, 2})}).find("do not add up to 2"), std::string::npos);
  EXPECT_NE(error_of("sequence_split", {x, position(0)}).find("at least 1"), std::string::npos);
  EXPECT_NE(error_of("sequence_concat", {numbers({})}, columns).find("at least one item"), std::string::npos);
}

// What is taken out has the dimensions of what was put in.
TEST(Sequence, ItsItemsHaveTheRankOfWhatIsInserted) {
  const Graph graph = test::parse(R"(
    %x : f32[B,3,4] = input "x"  %v : f32[N] = input "v"  %i : i64[] = input "i"
    %none  = sequence_empty
    %one   = sequence_insert %none, %x
    %two   = sequence_insert %one, %x, %i
    %fewer = sequence_erase %two
    %item  = sequence_at %fewer, %i
    %stack = sequence_concat %two {axis=0, new_axis=1}
    %rows  = sequence_split %x {axis=1, keepdims=0}
    %mixed = sequence_insert %two, %v
    %any   = sequence_at %mixed, %i
    %nothing = sequence_at %none, %i
    %o     = optional %x
    %inside = optional_get_element %o
    return %item, %stack, %rows, %mixed, %any, %nothing, %o, %inside)");
  std::vector<std::string> types;
  for (const Output& output : graph.outputs()) types.push_back(to_string(graph.type(output.value)));
  EXPECT_EQ(types, (std::vector<std::string>{"f32[_1,_2,_3]", "f32[_4,_5,_6,_7]", "seq(f32:2)", "seq(f32)", "f32[*]",
                                             "f32[*]", "opt(f32:3)", "f32[_8,_9,_10]"}));
}

// Items of s and t one by one, x and the capture c as they are.
constexpr const char* kMap = R"(graph g {
  %s : seq(f32) = input "s"
  %t : seq(f32) = input "t"
  %x : f32[] = input "x"
  %c : f32[] = input "c"
  %sums, %items = sequence_map %s, %t, %x, %c {inputs=3} do
    graph body {
      %a : f32[*] = input "a"
      %b : f32[*] = input "b"
      %y : f32[] = input "y"
      %d : f32[] = input "d"
      %ab = add %a, %b
      %aby = add %ab, %y
      %all = add %aby, %d
      return %all as "0", %a as "1"
    }
  return %sums as "sums", %items as "items"
})";

TEST(SequenceMap, AppliesItsBodyToTheItemsOfEachPosition) {
  const Graph graph = test::parse(kMap);
  const auto run = [&](const Floats& s, const Floats& t) {
    return evaluate(graph, {{"s", numbers(s)}, {"t", numbers(t)}, {"x", number(100)}, {"c", number(1000)}});
  };
  EXPECT_EQ(to_string(graph.type(graph.outputs()[0].value)), "seq(f32)");
  const std::vector<Tensor> results = run({1, 2}, {10, 20});
  EXPECT_EQ(values_of(results[0]), (Floats{1111, 1122}));
  EXPECT_EQ(values_of(results[1]), (Floats{1, 2}));
  EXPECT_EQ(values_of(run({}, {})[0]), Floats());
  EXPECT_THROW(run({1, 2}, {10}), Error);
}

TEST(Optional, HoldsATensorOrASequenceOrNothing) {
  const Tensor one = call("optional", {number(7)}), list = call("optional", {numbers({1, 2})}),
               none = call("optional", {}, {{"dtype", DType::f32}});
  for (const Tensor& full : {one, list, number(7)}) EXPECT_TRUE(call("optional_has_element", {full}).as<bool>()[0]);
  EXPECT_FALSE(call("optional_has_element", {none}).as<bool>()[0]);
  EXPECT_FALSE(call("optional_has_element", {}).as<bool>()[0]);
  EXPECT_EQ(call("optional_get_element", {one}).to_floats(), (Floats{7}));
  EXPECT_EQ(call("optional_get_element", {number(7)}).to_floats(), (Floats{7}));
  EXPECT_EQ(values_of(call("optional_get_element", {list})), (Floats{1, 2}));
  EXPECT_NE(error_of("optional_get_element", {none}).find("the optional is empty"), std::string::npos);
  EXPECT_NE(error_of("optional", {one}).find("accepted: a tensor or a sequence"), std::string::npos);
  EXPECT_NE(error_of("optional", {}).find("neither"), std::string::npos);
}

}  // namespace
}  // namespace hone
