// What a session refuses, and what ends it: sizes no machine has, plans beyond the limit on memory, stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_limit.h"
#include "base/stop.h"
#include "base/threads.h"
#include "ops/registry.h"
#include "runtime/session.h"
#include "tests/passes/parse_ops.h"

namespace hone {
namespace {

using test::error_of;
using test::parse;

class WithMemoryLimit {
 public:
  explicit WithMemoryLimit(int64_t more) { set_memory_limit(memory_charged() + more); }
  ~WithMemoryLimit() { set_memory_limit(0); }
};

NamedTensors ones(const Graph& graph) {
  NamedTensors inputs;
  for (ValueId v : graph.inputs()) {
    const std::vector<int64_t> shape = constant_shape(graph.type(v).shape);
    inputs[graph.value(v).label] = Tensor::from_floats(
        graph.type(v).dtype, shape, std::vector<float>(static_cast<size_t>(element_count(shape)), 1.f));
  }
  return inputs;
}

std::string refusal(const std::string& text) {
  return error_of([&] {
    const Graph graph = parse(text);
    Session(graph, {}).run(ones(graph));
  });
}

TEST(Limits, SizesThatNoMachineHasAreAnError) {
  EXPECT_NE(refusal(R"(graph g {
      %x : f32[1] = input "x"
      %y = expand %x {shape=[4611686018427387904]}
      return %y as "y"
    })"),
            "");
  EXPECT_NE(refusal(R"(graph g {
      %x : f32[1] = input "x"
      %y = expand %x {shape=[1099511627776, 1099511627776]}
      %z = relu %y
      return %z as "z"
    })"),
            "");
  EXPECT_NE(refusal(R"(graph g {
      %x : f32[1] = input "x"
      %y = expand %x {shape=[0, 4611686018427387904, 4611686018427387904]}
      return %y as "y"
    })"),
            "");
}

TEST(Limits, WhatIsMovedIsHeldAgainstTheLimitBeforeItsPositionsAreListed) {
  const WithMemoryLimit limit(64 << 20);
  EXPECT_THAT(refusal(R"(graph g {
      %x : f32[4] = input "x"
      %y = pad %x {pads=[0, 100000000]}
      return %y as "y"
    })"),
              testing::AllOf(testing::HasSubstr("400"), testing::HasSubstr("--max-memory")));
}

// Each value fits, and all that live at once do not.
TEST(Limits, APlanIsHeldAgainstTheLimitBeforeItsFirstAllocation) {
  const Graph graph = parse(R"(graph g {
      %x : f32[1024,1024] = input "x"
      %a = softmax %x
      %b = softmax %a
      %c = matmul %a, %b
      %d = matmul %b, %c
      %e = add %c, %d
      return %e as "e", %d as "d", %c as "c"
    })");
  const NamedTensors inputs = ones(graph);
  {
    const WithMemoryLimit limit(18 << 20);
    Session session(graph, {});
    const int64_t before = memory_charged();
    EXPECT_THAT(error_of([&] { session.run(inputs); }),
                testing::AllOf(testing::HasSubstr("a run of these shapes"), testing::HasSubstr("scratch"),
                               testing::HasSubstr("outputs"), testing::HasSubstr("--max-memory")));
    EXPECT_EQ(session.statistics().kernels_compiled, 0);
    EXPECT_EQ(memory_charged(), before);
  }
  const WithMemoryLimit limit(64 << 20);
  EXPECT_EQ(Session(graph, {}).run(inputs).size(), 3u);
}

TEST(Limits, WeightsLaidOutCountAgainstTheLimit) {
  Graph graph;
  const ValueId x = graph.add_input("x", {.dtype = DType::f32, .shape = {2, 1024}, .format = std::nullopt});
  graph.add_output(graph.emit(ops::get("linear"), {x, graph.add_constant("w", Tensor(DType::f32, {1024, 1024}))}), "y");
  const int64_t before = memory_charged();
  {
    Session session(graph, {});
    session.run(ones(graph));
    EXPECT_GE(memory_charged() - before, 4 << 20);
    EXPECT_GE(session.statistics().prepacked_bytes, 4 << 20);
  }
  EXPECT_EQ(memory_charged(), before);
  const WithMemoryLimit limit(2 << 20);
  EXPECT_THAT(error_of([&] { Session(graph, {}).run(ones(graph)); }), testing::HasSubstr("weights laid out"));
}

TEST(Limits, TwoSessionsOfOneProcessHaveLimitsOfTheirOwn) {
  const Graph graph = parse(R"(graph g {
      %x : f32[1024,1024] = input "x"
      %a = softmax %x
      %b = matmul %a, %x
      return %b as "b"
    })");
  const NamedTensors inputs = ones(graph);
  for (const int optimise : {0, 2}) {
    Session small(graph, {.optimise = optimise, .memory_limit = 1 << 20});
    Session large(graph, {.optimise = optimise, .memory_limit = 64 << 20});
    EXPECT_THAT(error_of([&] { small.run(inputs); }),
                testing::AllOf(testing::HasSubstr("of the session"), testing::HasSubstr("memory_limit")));
    EXPECT_EQ(large.run(inputs).size(), 1u);
    EXPECT_NE(error_of([&] { small.run(inputs); }), "");  // what the other holds has changed nothing
  }
  EXPECT_THAT(error_of([&] { Session(graph, {.memory_limit = -1}); }), testing::HasSubstr("memory_limit is -1"));
}

TEST(Limits, ABudgetHoldsForRegionsAndIsFreeAgainWhenItsChargesAreGone) {
  const auto budget = std::make_shared<MemoryBudget>(1000);
  const int64_t before = memory_charged();
  std::vector<MemoryCharge> charges(8);
  {
    const MemoryScope scope(budget.get());
    parallel_for(8, [&](int64_t i) { charges[static_cast<size_t>(i)] = MemoryCharge(100, "a part"); });
    EXPECT_EQ(budget->charged(), 800);
    EXPECT_NE(error_of([] { require_memory(201, "more"); }), "");
  }
  EXPECT_EQ(error_of([] { require_memory(201, "more"); }), "");
  EXPECT_EQ(memory_charged() - before, 800);
  charges.clear();
  EXPECT_EQ(budget->charged(), 0);
  EXPECT_EQ(memory_charged(), before);
}

class Asked {
 public:
  explicit Asked(Stop why) { request_stop(why); }
  ~Asked() { request_stop(Stop::none); }
};

TEST(Limits, AStopEndsPassesCompilationAndRuns) {
  const Graph graph = parse(R"(graph g {
      %x : f32[64,64] = input "x"
      %a = matmul %x, %x
      %b = softmax %a
      return %b as "b"
    })");
  for (int optimise : {1, 2}) {
    const Asked stop(Stop::timeout);
    EXPECT_THROW(Session(graph, {.optimise = optimise}), Stopped);
  }
  Session fresh(graph, {}), used(graph, {});
  const std::vector<Tensor> want = used.run(ones(graph));
  {
    const Asked stop(Stop::interrupted);
    EXPECT_THROW(fresh.run(ones(graph)), Stopped);
    EXPECT_THROW(used.run(ones(graph)), Stopped);
  }
  EXPECT_TRUE(fresh.run(ones(graph))[0].same_bits(want[0])) << "a stop leaves a session that works";
  EXPECT_TRUE(used.run(ones(graph))[0].same_bits(want[0]));
}

// Windows whose numbers a file may have made up: kernels leave them to the interpreter, or an Error says what is wrong.
TEST(Limits, WindowsOfAnySizeEndInAResultOrAnError) {
  const std::vector<std::string> numbers{
      "0", "-1", "2147483648", "4611686018427387904", "9223372036854775807", "-9223372036854775808"};
  for (const char* op : {"max_pool", "avg_pool"})
    for (const std::string& n : numbers)
      for (const std::string& attributes :
           {"kernel_shape=[" + n + ",1]", "kernel_shape=[1,1], strides=[" + n + ",1]",
            "kernel_shape=[2,2], strides=[1," + n + "]", "kernel_shape=[2,1], dilations=[" + n + ",1]",
            "kernel_shape=[1,1], dilations=[1," + n + "]", "kernel_shape=[1,1], pads=[" + n + ",0,0,0]",
            "kernel_shape=[2,2], pads=[0,0,0," + n + "]"}) {
        const std::string text = fmt::format(R"(graph g {{
            %x : f32[1,4,5,3] = input "x"
            %y = {} %x {{channels_last=1, {}}}
            return %y as "y"
          }})",
                                             op, attributes);
        const WithMemoryLimit limit(64 << 20);
        const std::string compiled = refusal(text);
        const std::string interpreted = error_of([&] {
          const Graph graph = parse(text);
          Session(graph, {.optimise = 0}).run(ones(graph));
        });
        EXPECT_EQ(compiled.empty(), interpreted.empty()) << text << compiled << "\n" << interpreted;
      }
}

TEST(Limits, LongChainsAndManyInputsRun) {
  Graph chain;
  ValueId x = chain.add_input("x", {.dtype = DType::f32, .shape = {4}, .format = std::nullopt});
  for (int i = 0; i < 3'000; ++i) x = chain.emit(ops::get("sigmoid"), {x});
  chain.add_output(x, "y");
  EXPECT_EQ(Session(chain, {}).run(ones(chain)).size(), 1u);

  Graph wide;
  ValueId sum = kNone;
  for (int i = 0; i < 2'000; ++i) {
    const ValueId next =
        wide.add_input(fmt::format("x{}", i), {.dtype = DType::f32, .shape = {2}, .format = std::nullopt});
    sum = sum == kNone ? next : wide.emit(ops::get("add"), {sum, next});
  }
  wide.add_output(sum, "y");
  EXPECT_EQ(Session(wide, {}).run(ones(wide))[0].to_floats()[0], 2'000);
}

}  // namespace
}  // namespace hone
