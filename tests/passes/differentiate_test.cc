#include "passes/differentiate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/evaluate.h"
#include "passes/pipelines.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

Graph parsed(const std::string& text) { return parse_graph(text, test::op_context(), "test"); }

// The gradient of the only output by one value, at what the parameters begin as.
std::vector<double> gradient(const std::string& text, const std::string& by) {
  Graph graph = parsed(text);
  const ValueId d = differentiate(graph, graph.outputs()[0].value, std::array{graph.find_value(by)})[0];
  verify(graph);
  graph.add_output(d, "d");
  return evaluate(graph, {})[1].to_doubles();
}

std::string refusal(const std::string& text, const DifferentiateOptions& options = {}) {
  return test::error_of([&] { run_pass(parsed(text), "differentiate", {.options = options}); });
}

using testing::ElementsAre;

TEST(Differentiate, AValueWithSeveralUsersGetsTheSumOfTheirGradients) {
  EXPECT_THAT(gradient(R"(
    %x : f32[2] = param "x" {3, 5}
    %a = mul %x, %x
    %b = add %a, %x
    %y = reduce_sum %b
    return %y)",
                       "x"),
              ElementsAre(7, 11));
}

TEST(Differentiate, WhatTheLossDoesNotDependOnHasZeros) {
  EXPECT_THAT(gradient(R"(
    %x : f32[2] = param "x" {3, 5}
    %z : f32[3] = param "z" {1, 2, 3}
    %y = reduce_sum %x
    return %y)",
                       "z"),
              ElementsAre(0, 0, 0));
}

TEST(Differentiate, WholeNumbersAreConstants) {
  EXPECT_THAT(gradient(R"(
    %x : f32[2] = param "x" {3, 5}
    %i = cast %x {dtype=i32}
    %f = cast %i {dtype=f32}
    %p = mul %x, %f
    %y = reduce_sum %p
    return %y)",
                       "x"),
              ElementsAre(3, 5));
}

TEST(Differentiate, ByAnyValueAndTheLossByItselfIsOne) {
  const std::string text = R"(
    %x : f32[2] = param "x" {3, 5}
    %a = mul %x, %x
    %b = mul %a, %a
    %y = reduce_sum %b
    return %y)";
  EXPECT_THAT(gradient(text, "a"), ElementsAre(18, 50));
  EXPECT_THAT(gradient(text, "y"), ElementsAre(1));
}

TEST(Differentiate, OfAGradientIsTheSecondDerivative) {
  Graph graph = parsed(R"(
    %x : f32[] = param "x" {3}
    %a = mul %x, %x
    %y = mul %a, %x
    return %y)");
  const ValueId x = graph.find_value("x");
  const ValueId d = differentiate(graph, graph.outputs()[0].value, std::array{x})[0];
  graph.add_output(differentiate(graph, d, std::array{x})[0], "d2");
  EXPECT_THAT(evaluate(graph, {})[1].to_doubles(), ElementsAre(18));
}

// exp(-x) overflows at -100, where the quotients that define both are infinity / infinity.
TEST(Differentiate, SigmoidAndSiluOfLargeNumbersHaveFiniteGradients) {
  for (const char* op : {"sigmoid", "silu"})
    EXPECT_THAT(gradient(std::string("%x : f32[2] = param \"x\" {-100, 100}\n%a = ") + op +
                             " %x\n%y = reduce_sum %a\nreturn %y",
                         "x"),
                ElementsAre(testing::DoubleNear(0, 1e-30), std::string(op) == "silu" ? 1 : 0));
}

TEST(Differentiate, RefusesWhatItCannotDifferentiate) {
  EXPECT_THAT(refusal("%x : f32[] = input\nreturn %x"), testing::HasSubstr("a model without trainable parameters"));
  EXPECT_THAT(refusal("%x : f32[2] = param \"x\" {1, 2}\nreturn %x"),
              testing::HasSubstr("the loss %x is f32[2]; accepted: one float"));
  EXPECT_THAT(refusal("%x : f32[] = param \"x\" {1}\n%y = cast %x {dtype=i64}\nreturn %y"),
              testing::HasSubstr("the loss %y is i64[]; accepted: one float"));
  EXPECT_THAT(refusal("%x : f32[] = param \"x\" {1}\nreturn %x as \"a\", %x as \"b\""),
              testing::HasSubstr("which of 2 outputs is the loss"));
  EXPECT_THAT(refusal("%x : f32[] = param \"x\" {1}\nreturn %x as \"loss\"", {"los"}),
              testing::HasSubstr("no output \"los\" to be the loss; outputs: loss"));
}

TEST(Differentiate, NamesTheNodeThatHasNoGradientAndWhy) {
  EXPECT_THAT(refusal(R"(
    %x : f32[2,2] = param "x" {1, 2, 3, 4}
    %d = det %x
    return %d)"),
              testing::AllOf(testing::HasSubstr("%d: det has no gradient: ")));
}

TEST(Differentiate, ABroadcastThatOnlyARunDecidesIsRefused) {
  Graph graph = parsed(R"(
    %x : f32[S] = input
    %w : f32[3] = param "w" {1, 2, 3}
    %p = mul %x, %w
    %y = reduce_sum %p
    return %y)");
  const ValueId x = graph.find_value("x");
  EXPECT_THAT(test::error_of([&] { differentiate(graph, graph.outputs()[0].value, std::array{x}); }),
              testing::HasSubstr("whether an operand [S] was broadcast to [3] is not known before a run"));
}

TEST(Trainability, ListsWhatGivesNoGradientOnTheWayAndWhatIsReached) {
  const Graph graph = parsed(R"(
    %x : f32[2,2] = input
    %w : f32[2,2] = const "w" {1, 2, 3, 4}
    %v : f32[2] = const "v" {1, 2}
    %u : f32[2] = const "u" {1, 2}
    %a = mul %x, %w
    %d = det %a
    %e = det %x
    %i = argmax %u
    %s = mul %a, %v
    return %d, %e, %i, %s)");
  const auto value = [&](const char* name) { return graph.find_value(name); };
  const Trainability found = trainability(graph, std::array{value("w"), value("v"), value("u")});
  ASSERT_EQ(found.obstacles.size(), 1u);
  EXPECT_EQ(graph.node(found.obstacles[0].node).results[0], value("d"));
  EXPECT_THAT(found.obstacles[0].why, testing::HasSubstr("det has no gradient: "));
  EXPECT_THAT(found.reached, ElementsAre(value("w"), value("v")));
}

TEST(Trainability, TriesTheRulesWhichMayAskForMore) {
  const Graph graph = parsed(R"(
    %n : i64[1] = input
    %w : f32[2] = const "w" {1, 2}
    %y = tile %w, %n
    return %y)");
  const Trainability found = trainability(graph, std::array{graph.find_value("w")});
  ASSERT_EQ(found.obstacles.size(), 1u);
  EXPECT_THAT(found.obstacles[0].why,
              testing::HasSubstr("tile has no gradient here: its repeats are computed while it runs"));
}

}  // namespace
}  // namespace hone
