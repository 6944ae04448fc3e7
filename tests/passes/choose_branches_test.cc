// An `if` whose condition is known becomes the body that it chooses.
#include "passes/choose_branches.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/calls/control.h"
#include "passes/pipelines.h"
#include "tests/passes/parse_ops.h"
#include "tests/passes/same_outputs.h"

namespace hone::test {
namespace {

std::string choice(const std::string& condition, const std::string& rows = "2") {
  return fmt::format(R"(graph g {{
  %x : f32[{0},2] = input "x"
  {1}
  %y = if %c, %x, %x {{then_captures=1}} do
    graph yes {{
      %x : f32[{0},2] = input "x"
      %w : f32[2,2] = const "inner.weight" {{1, 2, 3, 4}}
      %l = linear %x, %w
      return %l as "0"
    }}
    graph no {{
      %x : f32[{0},2] = input "x"
      return %x as "0"
    }}
  %z = relu %y
  return %z as "z"
}})",
                     rows, condition);
}

constexpr const char* kOfRows = R"(%s = shape_of %x
  %zero : i64[] = const {0}
  %rows = gather %s, %zero {axis=0}
  %two : i64[] = const {2}
  %c = equal %rows, %two)";

TEST(ChooseBranches, AConstantChooses) {
  for (bool yes : {true, false}) {
    const Graph before = parse(choice(fmt::format("%c : bool[] = const {{{}}}", yes)));
    const Graph after = run_pass(before, "choose_branches");
    verify(after);
    EXPECT_TRUE(after.nodes(if_def).empty()) << print(after);
    EXPECT_EQ(after.nodes("linear").size(), yes ? 1u : 0u);
    EXPECT_EQ(after.find_constant("inner.weight") != kNone, yes);
    EXPECT_EQ(after.find_value("y") != kNone, yes);  // the name stays with what has its place
    expect_same_outputs(before, after, 0);
  }
}

TEST(ChooseBranches, SizesChooseWhereTheyAreKnown) {
  const Graph open = run_pass(parse(choice(kOfRows, "B")), "choose_branches");
  EXPECT_EQ(open.nodes(if_def).size(), 1u);
  const Graph fixed = run_pass(parse(choice(kOfRows, "2")), "choose_branches");
  EXPECT_TRUE(fixed.nodes(if_def).empty());
  EXPECT_EQ(fixed.nodes("linear").size(), 1u);
  EXPECT_EQ(run_pass(parse(choice(kOfRows, "3")), "choose_branches").nodes("linear").size(), 0u);
}

TEST(ChooseBranches, InputsDoNot) {
  const Graph after = run_pass(parse(choice(R"(%c : bool[] = input "c")")), "choose_branches");
  EXPECT_EQ(after.nodes(if_def).size(), 1u);
}

// Two that are the same body: sizes that each finds have other symbols.
TEST(ChooseBranches, SizesThatBodiesFindStayApart) {
  const auto found = [](const std::string& x, const std::string& y) {
    return fmt::format(R"(%{1} = if %c, %{0}, %{0} {{then_captures=1}} do
    graph yes {{
      %x : f32[4] = input "x"
      %i = non_zero %x
      return %i as "0"
    }}
    graph no {{
      %x : f32[4] = input "x"
      %i = non_zero %x
      return %i as "0"
    }}
  )",
                       x, y);
  };
  const Graph before =
      parse("graph g {\n %a : f32[4] = input \"a\"\n %b : f32[4] = input \"b\"\n %c : bool[] = const {true}\n " +
            found("a", "p") + found("b", "q") + "return %p as \"p\", %q as \"q\"\n}");
  const Graph after = run_pass(before, "choose_branches");
  verify(after);
  EXPECT_EQ(after.nodes("non_zero").size() + after.nodes(if_def).size(), 2u);
  if (after.nodes(if_def).empty()) {
    EXPECT_NE(after.type(after.outputs()[0].value).shape.back(), after.type(after.outputs()[1].value).shape.back());
  }
}

}  // namespace
}  // namespace hone::test
