// if, loop, scan; graphs whose shapes depend on data; what shape rules make of values of unknown rank.
#include <gtest/gtest.h>

#include "ops/evaluate.h"
#include "tests/ops/call.h"
#include "tests/passes/parse_ops.h"

namespace hone {
namespace {

using test::parse;

constexpr const char* kIf = R"(graph g {
  %c : bool[] = input "c"
  %x : f32[N] = input "x"
  %y = if %c, %x, %x {then_captures=1} do
    graph then { %a : f32[N] = input "a"  %r = add %a, 1.0  return %r as "0" }
    graph else { %b : f32[N] = input "b"  %r = unsqueeze %b {axes=[0]}  return %r as "0" }
  return %y as "y"
})";

TEST(If, TakesTheBodyThatTheConditionChooses) {
  const Graph graph = parse(kIf);
  const Tensor x = f32({2}, {1, 2});
  EXPECT_EQ(evaluate(graph, {{"c", Tensor::scalar(true)}, {"x", x}})[0].to_floats(), (Floats{2, 3}));
  const Tensor other = evaluate(graph, {{"c", Tensor::scalar(false)}, {"x", x}})[0];
  EXPECT_EQ(other.shape(), (Sizes64{1, 2}));
}

TEST(If, BodiesOfDifferentRankLeaveTheRankOpen) {
  const Graph graph = parse(kIf);
  EXPECT_EQ(to_string(graph.type(graph.outputs()[0].value)), "f32[*]");
}

TEST(If, BodiesOfDifferentTypesAreAnError) {
  try {
    parse(R"(%c : bool[] = input
      %y = if %c {then_captures=0} do
        graph a { %r : f32[] = const {1}  return %r as "0" }
        graph b { %r : i64[] = const {1}  return %r as "0" }
      return %y)");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("f32[] in one case and i64[] in the other"), std::string::npos)
        << error.what();
  }
}

// Doubles x until it exceeds the limit, and collects what it was.
constexpr const char* kLoop = R"(graph g {
  %most : i64[] = input "most"
  %x : f32[] = input "x"
  %limit : f32[] = input "limit"
  %last, %all = loop %most, _, %x, %limit {carried=1} do
    graph body {
      %i : i64[] = input "i"
      %go : bool[] = input "go"
      %v : f32[] = input "v"
      %m : f32[] = input "m"
      %twice = mul %v, 2.0
      %more = less %twice, %m
      return %more as "0", %twice as "1", %v as "2"
    }
  return %last as "last", %all as "all"
})";

std::vector<Tensor> run_loop(int64_t most, float limit) {
  return evaluate(parse(kLoop), {{"most", Tensor::scalar<int64_t>(most)},
                                 {"x", Tensor::scalar<float>(1)},
                                 {"limit", Tensor::scalar<float>(limit)}});
}

TEST(Loop, StopsAtItsConditionOrItsTripCountAndCollectsSlices) {
  const std::vector<Tensor> by_condition = run_loop(100, 20);
  EXPECT_EQ(by_condition[0].to_floats(), (Floats{32}));
  EXPECT_EQ(by_condition[1].to_floats(), (Floats{1, 2, 4, 8, 16}));
  EXPECT_EQ(run_loop(3, 1000)[1].to_floats(), (Floats{1, 2, 4}));
}

TEST(Loop, WithoutIterationsGivesItsStartAndNothingCollected) {
  const std::vector<Tensor> results = run_loop(0, 20);
  EXPECT_EQ(results[0].to_floats(), (Floats{1}));
  EXPECT_EQ(results[1].shape(), (Sizes64{0}));
}

TEST(Scan, RunsOverSlicesInEitherDirection) {
  const char* text = R"(graph g {
    %s : f32[2] = input "s"
    %x : f32[2,3] = input "x"
    %last, %sums = scan %s, %x {states=1, scans=1, scan_axes=[1], scan_directions=[DIRECTION], result_axes=[-1]} do
      graph body {
        %a : f32[2] = input "a"
        %b : f32[2] = input "b"
        %r = add %a, %b
        return %r as "0", %r as "1"
      }
    return %last as "last", %sums as "sums"
  })";
  for (const bool backwards : {false, true}) {
    std::string chosen = text;
    chosen.replace(chosen.find("DIRECTION"), 9, backwards ? "1" : "0");
    const std::vector<Tensor> results =
        evaluate(parse(chosen), {{"s", f32({2}, {0, 0})}, {"x", f32({2, 3}, {1, 2, 3, 10, 20, 30})}});
    EXPECT_EQ(results[0].to_floats(), (Floats{6, 60}));
    EXPECT_EQ(results[1].shape(), (Sizes64{2, 3}));
    EXPECT_EQ(results[1].to_floats(), backwards ? (Floats{3, 5, 6, 30, 50, 60}) : (Floats{1, 3, 6, 10, 30, 60}));
  }
}

TEST(Bodies, AreReadBackAsTheyArePrinted) {
  for (const char* text : {kIf, kLoop}) {
    const std::string once = print(parse(text));
    EXPECT_EQ(print(parse(once)), once);
  }
}

TEST(Bodies, ANodeMustHaveAsManyAsItsOp) {
  EXPECT_THROW(parse("%c : bool[] = input  %y = if %c {then_captures=0}  return %y"), Error);
  EXPECT_THROW(parse("%x : f32[] = input  %y = neg %x do graph a { return }  return %y"), Error);
}

TEST(ShapeOf, GivesTheSizesOfARun) {
  const Graph graph = parse("%x : f32[B,3] = input  %s = shape_of %x  return %s");
  EXPECT_EQ(evaluate(graph, {{"x", Tensor(DType::f32, {5, 3})}})[0].to_integers(), (Ints{5, 3}));
}

TEST(UnknownRank, SpreadsThroughOpsAndIsKnownWhenTheGraphRuns) {
  const Graph graph = parse("%x : f32[*] = input  %y = add %x, 1.0  %z = softmax %y  return %z");
  EXPECT_EQ(to_string(graph.type(graph.outputs()[0].value)), "f32[*]");
  const Tensor result = evaluate(graph, {{"x", Tensor(DType::f32, {2, 2, 2})}})[0];
  EXPECT_EQ(result.shape(), (Sizes64{2, 2, 2}));
  EXPECT_FLOAT_EQ(result.to_floats()[0], 0.5f);
}

TEST(Bodies, AreNestedToABoundedDepth) {
  std::string text = "%c : bool[] = input  %y = if %c {then_captures=0} do ";
  for (int i = 0; i < 10000; ++i) text += "graph a { %c : bool[] = const {true}  %y = if %c {then_captures=0} do ";
  EXPECT_NE(test::error_of([&] { parse(text); }).find("nested"), std::string::npos);
}

TEST(Bodies, TakeOnlyWhatTheyDeclare) {
  const auto error_with = [](const std::string& declared) {
    std::string text = kIf;
    text.replace(text.find("%a : f32[N]"), 11, "%a : " + declared);
    return test::error_of([&] { parse(text); });
  };
  for (const char* declared : {"f64[N]", "f16[N]", "f32[N,2]"})
    EXPECT_NE(error_with(declared).find("is given f32[N]"), std::string::npos)
        << declared << ": " << error_with(declared);
  for (const char* declared : {"string[N]", "seq(f32)"})  // of which the body's own ops take none
    EXPECT_NE(error_with(declared).find(declared), std::string::npos) << declared << ": " << error_with(declared);
  EXPECT_NE(test::error_of([] {
              parse(
                  "%x : f32[] = input  %y = loop %x {carried=0} do graph b { %i : i64[] = input "
                  "%c : bool[] = input return %c } return %x");
            }).find("expected trip count and condition"),
            std::string::npos);
  EXPECT_NE(test::error_of([] {
              parse(
                  "%x : f32[2] = input  %y, %z = loop _, _, _, %x {carried=1} do graph b { %i : i64[] = input "
                  "%c : bool[] = input %v : f32[2] = input %w : f32[2] = input return %c, %v, %w } return %y");
            }).find("operand 2 is absent"),
            std::string::npos);
}

// What the graph declares where the shape rule knows nothing is held against what comes.
TEST(Bodies, AResultOfAnotherSizeThanDeclaredIsAnError) {
  const Graph graph = parse(R"(%s : i64[1] = input  %x : f32[1] = input
    %y : f32[3] = expand %x, %s  %z : f32[3] = add %y, 1.0  return %z)");
  EXPECT_EQ(evaluate(graph, {{"s", i64({1}, {3})}, {"x", f32({1}, {1})}})[0].to_floats(), (Floats{2, 2, 2}));
  EXPECT_NE(test::error_of([&] {
              evaluate_body(graph, {i64({1}, {7}), f32({1}, {1})}, {});
            }).find("%y is f32[7]"),
            std::string::npos);
  EXPECT_NE(test::error_of([&] {
              evaluate_body(graph, {i64({1}, {3}), i64({1}, {1})}, {});
            }).find("declares f32[1]"),
            std::string::npos);
}

}  // namespace
}  // namespace hone
