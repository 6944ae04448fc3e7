// The bodies of if, loop and scan run compiled code, which gives what evaluating them gives. All values are small
// integers, so that every sum is exact.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/session.h"
#include "tests/passes/parse_ops.h"
#include "tests/runtime/encoder.h"
#include "tests/runtime/sample_sessions.h"
#include "tests/support/op_cases.h"

namespace hone::test {
namespace {

constexpr const char* kLoop = R"(graph g {
  %n : i64[] = input "n"
  %x : f32[B,4] = input "x"
  %limit : f32[] = input "limit"
  %last, %sums = loop %n, _, %x, %limit {carried=1} do
    graph body {
      %i : i64[] = input "i"
      %go : bool[] = input "go"
      %v : f32[B,4] = input "v"
      %most : f32[] = input "most"
      %twice = add %v, %v
      %sum = reduce_sum %twice {axes=[0,1], keepdims=0}
      %more = less %sum, %most
      return %more as "0", %twice as "1", %sum as "2"
    }
  return %last as "last", %sums as "sums"
})";

constexpr const char* kGrowing = R"(graph g {
  %n : i64[] = input "n"
  %x : f32[N] = input "x"
  %last = loop %n, _, %x {carried=1} do
    graph body {
      %i : i64[] = input "i"
      %go : bool[] = input "go"
      %v : f32[M] = input "v"
      %both = concat %v, %v {axis=0}
      %r = add %both, 1.0
      return %go as "0", %r as "1"
    }
  return %last as "last"
})";

constexpr const char* kIf = R"(graph g {
  %c : bool[] = input "c"
  %x : f32[B,8] = input "x"
  %w : f32[8,8] = const "w"
  %y = if %c, %x, %w, %x {then_captures=2} do
    graph yes {
      %x : f32[B,8] = input "x"
      %k : f32[8,8] = input "k"
      %p = matmul %x, %k
      return %p as "0"
    }
    graph no {
      %x : f32[B,8] = input "x"
      %r = relu %x
      return %r as "0"
    }
  return %y as "y"
})";

Graph parsed(const char* text) {
  ParseContext context = op_context();
  context.find_constant = [](const std::string&, const TensorType& type) -> std::optional<Tensor> {
    Philox rng(7);
    return random_integers(rng, constant_shape(type.shape), type.dtype, -1, 1);
  };
  return parse_graph(text, context);
}

Tensor small(std::vector<int64_t> shape, uint64_t seed) {
  Philox rng(seed);
  return random_integers(rng, shape, DType::f32, -2, 2);
}

void expect_compiled(const char* text, const std::vector<NamedTensors>& runs) {
  const Graph graph = parsed(text);
  Session session(graph, {});
  for (const NamedTensors& inputs : runs) {
    RunProfile profile;
    expect_same_bits(session.run(inputs, &profile), evaluate(graph, inputs), "a body");
    for (const StepProfile& step : profile.steps) EXPECT_NE(step.kind, "interpreted") << step.name << " " << step.ops;
    EXPECT_EQ(profile.marks_ns.size(), profile.steps.size() + 1);
    EXPECT_TRUE(std::ranges::is_sorted(profile.marks_ns));
  }
  const SessionStatistics statistics = session.statistics();
  EXPECT_GT(statistics.kernels_compiled + statistics.kernels_cached, 0);
}

TEST(Bodies, OfAScanAreCompiledForAnySizes) {
  std::vector<NamedTensors> runs;
  for (int64_t rows : {1, 3, 2})
    for (int64_t steps : {5, 1}) runs.push_back({{"h", small({rows, 8}, 1)}, {"x", small({steps, rows, 8}, 2)}});
  expect_compiled(kScan, runs);
}

TEST(Bodies, OfALoopStopAtItsCondition) {
  std::vector<NamedTensors> runs;
  for (int64_t n : {0, 1, 9})
    runs.push_back({{"n", Tensor::scalar<int64_t>(n)},
                    {"x", Tensor::of<float>({1, 4}, {1, 1, 0, 1})},
                    {"limit", Tensor::scalar<float>(50)}});
  expect_compiled(kLoop, runs);
}

TEST(Bodies, MayCarryWhatGrows) {
  expect_compiled(kGrowing, {{{"n", Tensor::scalar<int64_t>(4)}, {"x", small({3}, 4)}},
                             {{"n", Tensor::scalar<int64_t>(2)}, {"x", small({1}, 5)}}});
}

TEST(Bodies, OfAnIfAreCompiledEach) {
  expect_compiled(kIf, {{{"c", Tensor::scalar<bool>(true)}, {"x", small({3, 8}, 6)}},
                        {{"c", Tensor::scalar<bool>(false)}, {"x", small({2, 8}, 7)}}});
}

// Weights of a body are its own: they do not meet those of the graph around it, whose values have the same numbers.
TEST(Bodies, HaveWeightsOfTheirOwn) {
  const Graph graph = parsed(R"(graph g {
    %c : bool[] = input "c"
    %x : f32[B,8] = input "x"
    %u : f32[8,8] = const "u"
    %l = linear %x, %u
    %y = if %c, %l, %l {then_captures=1} do
      graph yes {
        %x : f32[B,8] = input "x"
        %w : f32[8,8] = const "w"
        %n = neg %w
        %p = linear %x, %n
        return %p as "0"
      }
      graph no {
        %x : f32[B,8] = input "x"
        return %x as "0"
      }
    %z = linear %y, %u
    return %z as "z"
  })");
  Session session(graph, {});
  for (bool c : {true, false, true}) {
    const NamedTensors inputs{{"c", Tensor::scalar<bool>(c)}, {"x", small({3, 8}, 8)}};
    expect_same_bits(session.run(inputs), evaluate(graph, inputs), "weights");
  }
}

// A layer where the condition holds, and nothing where it does not.
std::string layer_if(const std::string& inputs, const std::string& condition) {
  return fmt::format(R"(graph g {{
  %x : f32[B,8] = input "x"
  {}
  %w : f32[8,8] = const "w"
  {}
  %y = if %c, %x, %w, %x {{then_captures=2}} do
    graph yes {{
      %x : f32[B,8] = input "x"
      %k : f32[8,8] = input "k"
      %p = matmul %x, %k
      return %p as "0"
    }}
    graph no {{
      %x : f32[B,8] = input "x"
      return %x as "0"
    }}
  %z = relu %y
  return %z as "z"
}})",
                     inputs, condition);
}

// By step and kind.
std::vector<std::string> steps_of(Session& session, const NamedTensors& inputs) {
  RunProfile profile;
  session.run(inputs, &profile);
  std::vector<std::string> steps;
  for (const StepProfile& step : profile.steps) steps.push_back(step.name + " " + step.kind);
  return steps;
}

bool has_bodies_row(const std::vector<std::string>& steps) {
  return std::ranges::any_of(steps, [](const std::string& step) { return step.ends_with(" bodies"); });
}

TEST(Branches, ThatSizesChooseAreStepsOfTheGraph) {
  const Graph graph = parsed(layer_if("", R"(%s = shape_of %x
  %zero : i64[] = const {0}
  %rows = gather %s, %zero {axis=0}
  %three : i64[] = const {3}
  %c = equal %rows, %three)")
                                 .c_str());
  Session session(graph, {});
  for (int64_t rows : {3, 2, 3, 5}) {
    const NamedTensors inputs{{"x", small({rows, 8}, 1)}};
    expect_same_bits(session.run(inputs), evaluate(graph, inputs), "a body");
    const std::vector<std::string> steps = steps_of(session, inputs);
    EXPECT_EQ(steps, std::vector<std::string>{rows == 3 ? "z gemm" : "z pointwise"});
  }
}

TEST(Branches, ThatInputsChooseAreStepsOfTheGraph) {
  const Graph graph = parsed(layer_if(R"(%rate : i64[] = input "rate")", R"(%sixteen : i64[] = const {16}
  %c = equal %rate, %sixteen)")
                                 .c_str());
  Session session(graph, {});
  for (int64_t rate : {16, 8, 16})
    for (int64_t rows : {3, 2}) {
      const NamedTensors inputs{{"x", small({rows, 8}, 1)}, {"rate", Tensor::scalar<int64_t>(rate)}};
      expect_same_bits(session.run(inputs), evaluate(graph, inputs), "a body");
      EXPECT_FALSE(has_bodies_row(steps_of(session, inputs)));
    }
  EXPECT_THROW(session.run({{"x", small({3, 8}, 1)}}), Error);
  EXPECT_THROW(session.run({{"x", small({3, 8}, 1)}, {"rate", Tensor::scalar<float>(16)}}), Error);
}

// A profile has the steps of the body that ran, then what the node took beside them.
TEST(Branches, ThatValuesChooseAreCompiledAndProfiled) {
  const Graph graph = parsed(layer_if("", R"(%sum = reduce_sum %x {axes=[0,1], keepdims=0}
  %limit : f32[] = const {0.5}
  %c = less %limit, %sum)")
                                 .c_str());
  Session session(graph, {});
  const auto ones = [](float value) {
    return NamedTensors{{"x", Tensor::of<float>({2, 8}, std::vector<float>(16, value))}};
  };
  for (float value : {1.0f, -1.0f, 2.0f})
    expect_same_bits(session.run(ones(value)), evaluate(graph, ones(value)), "a body");
  const std::vector<std::string> steps = steps_of(session, ones(1));
  EXPECT_THAT(steps, testing::Contains("y/yes/p gemm"));
  EXPECT_THAT(steps, testing::Contains("y bodies"));
  EXPECT_THAT(steps_of(session, ones(-1)), testing::Not(testing::Contains("y/yes/p gemm")));
}

TEST(Branches, IterationsOfABodyAreOneRowOfAProfile) {
  Session session(parsed(kLoop), {});
  const NamedTensors inputs{{"n", Tensor::scalar<int64_t>(9)},
                            {"x", Tensor::of<float>({1, 4}, {1, 1, 0, 1})},
                            {"limit", Tensor::scalar<float>(1e6)}};
  session.run(inputs);
  RunProfile profile;
  session.run(inputs, &profile);
  int twice = 0;
  for (const StepProfile& step : profile.steps)
    if (step.ops.starts_with("add")) {
      ++twice;
      EXPECT_GE(step.flops, 9 * 4) << step.ops;
    }
  EXPECT_EQ(twice, 1);
}

// What chooses may stand in a body, and what it chooses may tell what chooses next.
TEST(Branches, MayDecideTheNext) {
  const Graph graph = parsed(R"(graph g {
    %x : f32[B,8] = input "x"
    %s = shape_of %x
    %zero : i64[] = const {0}
    %rows = gather %s, %zero {axis=0}
    %one : i64[] = const {1}
    %c = equal %rows, %one
    %y : f32[*] = if %c, %x, %x {then_captures=1} do
      graph yes {
        %x : f32[B,8] = input "x"
        %r = reshape %x {shape=[8]}
        return %r as "0"
      }
      graph no {
        %x : f32[B,8] = input "x"
        return %x as "0"
      }
    %t = shape_of %y
    %u = shape_of %t
    %rank = reshape %u {shape=[]}
    %d = equal %rank, %one
    %z : f32[*] = if %d, %y, %y {then_captures=1} do
      graph yes {
        %y : f32[*] = input "y"
        %n = neg %y
        return %n as "0"
      }
      graph no {
        %y : f32[*] = input "y"
        return %y as "0"
      }
    %a = abs %z
    %b = add %a, %z
    return %b as "b"
  })");
  Session session(graph, {});
  for (int64_t rows : {1, 2, 1}) {
    const NamedTensors inputs{{"x", small({rows, 8}, 3)}};
    std::vector<float> expected = inputs.at("x").to_floats();
    for (float& value : expected) value = rows == 1 ? std::abs(value) - value : std::abs(value) + value;
    EXPECT_EQ(session.run(inputs)[0].to_floats(), expected);  // the body that does not run need not fit the sizes
    for (const std::string& step : steps_of(session, inputs)) EXPECT_FALSE(step.ends_with(" interpreted")) << step;
    EXPECT_FALSE(has_bodies_row(steps_of(session, inputs)));
  }
}

}  // namespace
}  // namespace hone::test
