// Static memory: every value that lives only during a run gets an offset in one arena, from its first write to its last
// read.
#pragma once

#include <cstdint>
#include <vector>

namespace hone {

struct LiveRange {
  int64_t bytes = 0;
  int first_step = 0, last_step = 0;  // inclusive
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // per range, 64-byte aligned
  int64_t arena_bytes = 0;
  int64_t lower_bound = 0;  // largest sum of ranges that are live at one step
};

// Greedy, each range at the lowest offset where nothing that is live at the same time lies: the largest first, the
// largest product of bytes and steps first, in the order of steps, or the longest-lived first, whichever needs least.
// Thousands of ranges are placed step by step instead, each in the smallest stretch that is free. Throws Error for an
// arena whose size overflows.
MemoryPlan plan_memory(const std::vector<LiveRange>& ranges);

}  // namespace hone
