#include "runtime/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace hone {
namespace {

// One cache line; kernels may also store whole vectors up to the next line of a padded row.
int64_t aligned(int64_t bytes) { return (std::max<int64_t>(bytes, 1) + 63) / 64 * 64; }

bool overlap_in_time(const LiveRange& a, const LiveRange& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

int64_t largest_live_set(const std::vector<LiveRange>& ranges) {
  int last = 0;
  for (const LiveRange& r : ranges) last = std::max(last, r.last_step);
  std::vector<int64_t> change(static_cast<size_t>(last) + 2, 0);
  for (const LiveRange& r : ranges) {
    change[static_cast<size_t>(r.first_step)] += aligned(r.bytes);
    change[static_cast<size_t>(r.last_step) + 1] -= aligned(r.bytes);
  }
  int64_t live = 0, most = 0;
  for (int64_t c : change) most = std::max(most, live += c);
  return most;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<LiveRange>& ranges) {
  MemoryPlan plan;
  plan.offsets.assign(ranges.size(), 0);
  plan.lower_bound = ranges.empty() ? 0 : largest_live_set(ranges);
  std::vector<size_t> order(ranges.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ranges[a].bytes > ranges[b].bytes; });
  std::vector<size_t> placed;
  for (size_t r : order) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t p : placed)
      if (overlap_in_time(ranges[r], ranges[p]))
        taken.emplace_back(plan.offsets[p], plan.offsets[p] + aligned(ranges[p].bytes));
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (offset + aligned(ranges[r].bytes) <= begin) break;
      offset = std::max(offset, end);
    }
    plan.offsets[r] = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + aligned(ranges[r].bytes));
    placed.push_back(r);
  }
  return plan;
}

}  // namespace hone
