// Offsets in the arena: what is live at the same time never shares bytes, and the arena is not larger than it must be.
#include "runtime/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/philox.h"

namespace hone {
namespace {

int64_t whole_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// The most bytes that any single step needs, by looking at each step.
int64_t most_at_one_step(const std::vector<LiveRange>& ranges) {
  int last = 0;
  for (const LiveRange& r : ranges) last = std::max(last, r.last_step);
  int64_t most = 0;
  for (int step = 0; step <= last; ++step) {
    int64_t live = 0;
    for (const LiveRange& r : ranges)
      if (r.first_step <= step && step <= r.last_step) live += whole_lines(r.bytes);
    most = std::max(most, live);
  }
  return most;
}

void expect_sound(const std::vector<LiveRange>& ranges, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    const LiveRange& a = ranges[i];
    EXPECT_EQ(plan.offsets[i] % 64, 0);
    EXPECT_GE(plan.offsets[i], 0);
    EXPECT_LE(plan.offsets[i] + whole_lines(a.bytes), plan.arena_bytes);
    for (size_t j = 0; j < i; ++j) {
      const LiveRange& b = ranges[j];
      const bool together = a.first_step <= b.last_step && b.first_step <= a.last_step;
      const bool apart = plan.offsets[i] + whole_lines(a.bytes) <= plan.offsets[j] ||
                         plan.offsets[j] + whole_lines(b.bytes) <= plan.offsets[i];
      EXPECT_TRUE(!together || apart) << "ranges " << j << " and " << i;
    }
  }
  EXPECT_EQ(plan.lower_bound, most_at_one_step(ranges));
  EXPECT_GE(plan.arena_bytes, plan.lower_bound);
}

std::vector<LiveRange> random_ranges(Philox& rng, size_t count, uint32_t steps, uint32_t longest) {
  std::vector<LiveRange> ranges(count);
  for (LiveRange& r : ranges) {
    r.first_step = static_cast<int>(rng.below(steps));
    r.last_step = r.first_step + static_cast<int>(rng.below(longest));
    r.bytes = 1 + int64_t{rng.below(1u << rng.below(17))};
  }
  return ranges;
}

TEST(MemoryPlan, NothingNeedsNothing) {
  const MemoryPlan plan = plan_memory({});
  EXPECT_EQ(plan.arena_bytes, 0);
  EXPECT_EQ(plan.lower_bound, 0);
}

TEST(MemoryPlan, AValueReadInAStepIsApartFromWhatThatStepWrites) {
  const MemoryPlan plan = plan_memory({{128, 0, 1}, {128, 1, 2}});
  EXPECT_NE(plan.offsets[0], plan.offsets[1]);
  EXPECT_EQ(plan.arena_bytes, 256);
}

TEST(MemoryPlan, MemoryIsUsedAgainAfterTheLastRead) {
  const MemoryPlan plan = plan_memory({{128, 0, 1}, {128, 1, 2}, {128, 2, 3}, {128, 3, 4}});
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
  EXPECT_EQ(plan.offsets[1], plan.offsets[3]);
  EXPECT_EQ(plan.arena_bytes, 256);
}

TEST(MemoryPlan, ValuesWithoutElementsHaveAPlaceOfTheirOwn) {
  const MemoryPlan plan = plan_memory({{0, 0, 1}, {0, 0, 1}});
  EXPECT_NE(plan.offsets[0], plan.offsets[1]);
}

TEST(MemoryPlan, NestedLifetimesMeetTheLowerBound) {
  std::vector<LiveRange> ranges;
  for (int i = 0; i < 20; ++i) ranges.push_back({1 + i * 37 % 400, i, 40 - i});
  const MemoryPlan plan = plan_memory(ranges);
  expect_sound(ranges, plan);
  EXPECT_EQ(plan.arena_bytes, plan.lower_bound);
}

TEST(MemoryPlan, RandomLifetimesNeverOverlap) {
  Philox rng(1);
  for (int round = 0; round < 200; ++round) {
    const std::vector<LiveRange> ranges = random_ranges(rng, 1 + rng.below(60), 1 + rng.below(40), 1 + rng.below(12));
    expect_sound(ranges, plan_memory(ranges));
    if (HasFailure()) return;
  }
}

// Greedy placement is not optimal, but on lifetimes like those of a network it wastes little: 2 % in the sum of these.
TEST(MemoryPlan, RandomLifetimesStayCloseToTheLowerBound) {
  Philox rng(2);
  int64_t planned = 0, needed = 0;
  for (int round = 0; round < 100; ++round) {
    const MemoryPlan plan = plan_memory(random_ranges(rng, 50, 30, 6));
    planned += plan.arena_bytes;
    needed += plan.lower_bound;
  }
  EXPECT_LE(planned, needed + needed / 20);
}

// Comparing each with each would take a minute; an allocator's way is enough.
TEST(MemoryPlan, ThousandsOfRangesArePlacedSoundlyToo) {
  Philox rng(3);
  std::vector<LiveRange> ranges;
  for (int i = 0; i < 4'500; ++i) {
    const int first = static_cast<int>(rng.below(4'000));
    ranges.push_back({static_cast<int64_t>(rng.below(5'000)), first, first + static_cast<int>(rng.below(40))});
  }
  const MemoryPlan plan = plan_memory(ranges);
  expect_sound(ranges, plan);
  EXPECT_EQ(plan.lower_bound, most_at_one_step(ranges));
  EXPECT_LT(plan.arena_bytes, 2 * plan.lower_bound);
  std::vector<LiveRange> chain;
  for (int i = 0; i < 100'000; ++i) chain.push_back({64, i, i + 1});
  EXPECT_EQ(plan_memory(chain).arena_bytes, 128);
}

TEST(MemoryPlan, SizesThatOverflowAreAnError) {
  const int64_t huge = int64_t{1} << 62;
  EXPECT_THROW(plan_memory({{huge, 0, 1}, {huge, 0, 1}}), Error);
  EXPECT_THROW(plan_memory({{std::numeric_limits<int64_t>::max(), 0, 1}}), Error);
  EXPECT_EQ(plan_memory({{huge, 0, 1}, {huge, 2, 3}}).arena_bytes, huge);
}

}  // namespace
}  // namespace hone
