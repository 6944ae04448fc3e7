// Where results lie: over a dying operand where the kernel reads each element before it writes it, else apart.
#include "runtime/arena.h"

#include "runtime/cut_graph.h"
#include "runtime/session.h"
#include "tests/runtime/encoder.h"
#include "tests/support/graph_bound.h"

namespace hone::test {
namespace {

constexpr int64_t kBytes = 32 * 64 * 4;  // of the graphs' f32[32,64]

Arena arena_of(const Graph& graph, bool fails_late = false) {
  const Graph fixed = specialised_parts(graph, {}).head;
  return plan_arena(fixed, lower(fixed, {}), fails_late);
}

// In one piece and in several, on both the first and the second run.
void expect_right(const Graph& graph) {
  NamedTensors inputs;
  Philox rng(1);
  for (ValueId v : graph.inputs()) inputs.emplace(graph.value(v).label, random_floats(rng, {32, 64}));
  const std::vector<Bounded> want = bounded_outputs(graph, inputs);
  for (int threads : {1, 2}) {
    Session session(graph, {.threads = threads});
    for (int run = 0; run < 2; ++run) {
      const std::vector<Tensor> got = session.run(inputs);
      for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(fault_of(got[i], want[i]), "") << "output " << i;
    }
  }
}

TEST(Arena, ReductionsOfRowsAreWrittenOverTheirRows) {
  const Graph graph = parse(R"(graph g {
    %x : f32[32,64] = input "x"
    %a = softmax %x
    %b = softmax %a
    %c = softmax %b
    %t = transpose %c {perm=[1,0]}
    return %t as "t"
  })");
  const Arena arena = arena_of(graph);
  EXPECT_EQ(arena.in_place, 2);
  EXPECT_EQ(arena.bytes, kBytes);
  EXPECT_EQ(arena.lower_bound, kBytes);
  expect_right(graph);
}

TEST(Arena, AProductIsWrittenOverWhatIsAddedToIt) {
  const Graph graph = parse_seeded(R"(graph g {
    %x : f32[32,64] = input "x"
    %w : f32[64,64] = const "w"
    %a = softmax %x
    %p = linear %x, %w
    %r = add %p, %a
    %t = transpose %r {perm=[1,0]}
    return %t as "t"
  })");
  EXPECT_EQ(arena_of(graph).in_place, 1);
  expect_right(graph);
}

TEST(Arena, AProductIsNotWrittenOverItsLeftOperand) {
  const Graph graph = parse_seeded(R"(graph g {
    %x : f32[32,64] = input "x"
    %w : f32[64,64] = const "w"
    %a = softmax %x
    %p = linear %a, %w
    %r = add %p, %a
    %t = transpose %r {perm=[1,0]}
    return %t as "t"
  })");
  const Arena arena = arena_of(graph);
  EXPECT_EQ(arena.in_place, 0);
  EXPECT_EQ(arena.bytes, 2 * kBytes);
  expect_right(graph);
}

TEST(Arena, WhatIsReadLaterOrReturnedStays) {
  const Graph graph = parse(R"(graph g {
    %x : f32[32,64] = input "x"
    %a = softmax %x
    %b = softmax %a
    %c = softmax %b
    %t = transpose %c {perm=[1,0]}
    return %a as "a", %t as "t"
  })");
  EXPECT_EQ(arena_of(graph).in_place, 1);
  expect_right(graph);
}

TEST(Arena, OutputsAreNoPartOfItUnlessTheyShareMemory) {
  const Graph graph = parse(R"(graph g {
    %x : f32[32,64] = input "x"
    %a = softmax %x
    %b = softmax %a
    %c = reshape %b {shape=[64,32]}
    return %b as "b", %c as "c", %x as "x"
  })");
  const Arena arena = arena_of(graph);
  EXPECT_EQ(arena.bytes, kBytes);
  ASSERT_EQ(arena.outputs.size(), 1u);
  EXPECT_EQ(arena.outputs[0].second, 0u);
  expect_right(graph);
}

TEST(Arena, TransposesMoveElementsAndNeedMemoryOfTheirOwn) {
  const Graph graph = parse(R"(graph g {
    %x : f32[32,64] = input "x"
    %a = softmax %x
    %t = transpose %a {perm=[1,0]}
    return %t as "t"
  })");
  EXPECT_EQ(arena_of(graph).in_place, 0);
  expect_right(graph);
}

TEST(Arena, InputsAreNeverWrittenOver) {
  const Graph graph = parse(R"(graph g {
    %x : f32[32,64] = input "x"
    %a = softmax %x
    return %a as "a"
  })");
  EXPECT_EQ(arena_of(graph).in_place, 0);
  expect_right(graph);
}

TEST(Arena, UpdatesAreWrittenOverWhatTheyUpdateWhereNothingElseCanFailBehind) {
  const Graph last = parse(R"(graph g {
    %x : f32[32,64] = input "x"
    %m : f32[32,64] = state "m"
    %a = softmax %x
    %m2 = add %m, %x
    update %m = %m2
    return %a as "a"
  })");
  const Graph first = parse_seeded(R"(graph g {
    %x : f32[32,64] = input "x"
    %m : f32[32,64] = state "m"
    %w : f32[64,64] = const "w"
    %m2 = add %m, %x
    %p = linear %m2, %w
    update %m = %m2
    return %p as "p"
  })");
  for (bool fails_late : {false, true}) {
    EXPECT_EQ(arena_of(last, fails_late).overwritten.size(), 1u);
    EXPECT_EQ(arena_of(first, fails_late).overwritten.size(), fails_late ? 0u : 1u);
  }
}

TEST(Arena, PagesAreWrittenOverWhereverRowsAreAppended) {
  const Graph graph = parse(R"(graph cache {
    %rows : f32[1,1,32] = input "rows"
    %kv : mxint8[2,4,32] = state "kv"
    %table : i64[1,1] = state "table"
    %lengths : i64[1] = state "lengths"
    %new = quantize %rows {format=mxint8}
    %kv2 = cache_append %kv, %new, %table, %lengths
    %read = gather %kv2, %table
    update %kv = %kv2
    return %read as "read"
  })");
  for (bool fails_late : {false, true}) EXPECT_EQ(arena_of(graph, fails_late).overwritten.size(), 1u);
}

}  // namespace
}  // namespace hone::test
