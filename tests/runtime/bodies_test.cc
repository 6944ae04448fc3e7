// The bodies of if, loop and scan run compiled code, which gives what evaluating them gives. All values are small
// integers, so that every sum is exact.
#include <gtest/gtest.h>

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
    for (const StepProfile& step : profile.steps) EXPECT_EQ(step.kind, "bodies") << step.ops;
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

}  // namespace
}  // namespace hone::test
