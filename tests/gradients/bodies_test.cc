// if, loop and scan: the gradients of their bodies, against differences.
#include <gtest/gtest.h>

#include "gradients/accumulate.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/error_of.h"
#include "tests/support/gradient_check.h"

namespace hone::test {
namespace {

// By all inputs, from all outputs.
std::vector<ValueId> accumulated(Graph& graph, std::span<const ValueId> d_outputs) {
  std::vector<Seed> seeds;
  for (size_t i = 0; i < d_outputs.size(); ++i)
    if (d_outputs[i] != kNone) seeds.push_back({graph.outputs()[i].value, d_outputs[i]});
  const std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  return accumulate_gradients(graph, seeds, inputs);
}

GradientReport check(const char* text, std::map<std::string, Tensor> inputs, const EmitGradients& emit = accumulated) {
  Philox rng(3);
  const Graph graph = parse(text);
  GradientReport report = GradientCheck(graph, std::move(inputs), rng).run(emit);
  EXPECT_EQ(report.skipped, 0);
  return report;
}

Tensor numbers(Sizes64 shape, uint64_t seed) {
  Philox rng(seed);
  return random_floats(rng, std::move(shape), DType::f64, -1, 1);
}

// A recurrent cell, forward along the first axis of x and backward along the second of z; it counts, too.
constexpr const char* kScan = R"(graph g {
  %h : f64[2,3] = input "h"
  %n : i64[] = input "n"
  %x : f64[4,2,3] = input "x"
  %z : f64[2,4] = input "z"
  %w : f64[3,3] = input "w"
  %last, %count, %all, %back = scan %h, %n, %x, %z, %w
      {states=2, scans=2, scan_axes=[0,1], scan_directions=[0,1], result_axes=[1,0], result_directions=[0,1]} do
    graph body {
      %a : f64[2,3] = input "a"
      %i : i64[] = input "i"
      %u : f64[2,3] = input "u"
      %v : f64[2] = input "v"
      %m : f64[3,3] = input "m"
      %p = linear %a, %m
      %q = add %p, %u
      %t = tanh %q
      %c = unsqueeze %v {axes=[1]}
      %next = mul %t, %c
      %one : i64[] = const {1}
      %more = add %i, %one
      return %next as "next", %more as "more", %q as "q", %next as "kept"
    }
  return %last as "last", %count as "count", %all as "all", %back as "back"
})";

std::map<std::string, Tensor> scan_inputs() {
  return {{"h", numbers({2, 3}, 1)},
          {"n", Tensor::scalar<int64_t>(0)},
          {"x", numbers({4, 2, 3}, 2)},
          {"z", numbers({2, 4}, 3)},
          {"w", numbers({3, 3}, 4)}};
}

TEST(ScanGradient, IsWhatDifferencesGive) {
  const GradientReport report = check(kScan, scan_inputs());
  EXPECT_EQ(report.fault, "");
  for (const char* input : {"h", "x", "z", "w"}) EXPECT_GT(report.non_zero.at(input), 3) << input;
}

TEST(ScanGradient, WithAFaultOfAThousandthIsFound) {
  const auto faulty = [](Graph& graph, std::span<const ValueId> d_outputs) {
    std::vector<ValueId> gradients = accumulated(graph, d_outputs);
    gradients[4] = graph.emit(ops::get("mul"), {gradients[4], graph.add_scalar(1.001)});
    return gradients;
  };
  EXPECT_NE(check(kScan, scan_inputs(), faulty).fault, "");
}

// x goes through x * w + number, four times; what it was is collected.
constexpr const char* kLoop = R"(graph g {
  %x : f64[3] = input "x"
  %w : f64[3] = input "w"
  %most : i64[] = const {4}
  %go : bool[] = const {true}
  %last, %all = loop %most, %go, %x, %w {carried=1} do
    graph body {
      %i : i64[] = input "i"
      %c : bool[] = input "c"
      %v : f64[3] = input "v"
      %m : f64[3] = input "m"
      %p = mul %v, %m
      %f = cast %i {dtype=f64}
      %s = add %p, %f
      %on = identity %c
      return %on as "on", %s as "s", %v as "v"
    }
  %four = reshape %all {shape=[4,3]}
  return %last as "last", %four as "all"
})";

TEST(LoopGradient, OfAConstantTripCountIsWhatDifferencesGive) {
  const GradientReport report = check(kLoop, {{"x", numbers({3}, 1)}, {"w", numbers({3}, 2)}});
  EXPECT_EQ(report.fault, "");
  for (const char* input : {"x", "w"}) EXPECT_GT(report.non_zero.at(input), 3) << input;
}

std::string refusal(std::string text, std::string_view old, std::string_view replacement) {
  text.replace(text.find(old), old.size(), replacement);
  Graph graph = parse(text);
  const std::vector<ValueId> d{graph.add_constant("", Tensor::of<double>({3}, {1, 1, 1})), kNone};
  return error_of([&] { accumulated(graph, d); });
}

TEST(LoopGradient, WantsATripCountAndNoEndBeforeIt) {
  const std::string open = refusal(kLoop, "const {4}", "input \"n\""),
                    ends = refusal(kLoop, "%on = identity %c", "%two : i64[] = const {2}  %on = less %i, %two");
  EXPECT_NE(open.find("accepted: a constant trip count"), std::string::npos) << open;
  EXPECT_NE(ends.find("accepted: a condition that is always true"), std::string::npos) << ends;
}

constexpr const char* kIf = R"(graph g {
  %c : bool[] = input "c"
  %x : f64[3] = input "x"
  %y : f64[3] = input "y"
  %r = if %c, %x, %y, %y {then_captures=2} do
    graph then {
      %a : f64[3] = input "a"
      %b : f64[3] = input "b"
      %p = mul %a, %b
      return %p as "0"
    }
    graph else {
      %b : f64[3] = input "b"
      %e = exp %b
      return %e as "0"
    }
  return %r as "r"
})";

TEST(IfGradient, IsThatOfTheBodyTheConditionChooses) {
  for (bool condition : {true, false}) {
    const GradientReport report =
        check(kIf, {{"c", Tensor::scalar(condition)}, {"x", numbers({3}, 1)}, {"y", numbers({3}, 2)}});
    EXPECT_EQ(report.fault, "");
    EXPECT_EQ(report.non_zero.at("x") > 3, condition);
    EXPECT_GT(report.non_zero.at("y"), 3);
  }
}

}  // namespace
}  // namespace hone::test
