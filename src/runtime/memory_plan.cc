#include "runtime/memory_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/multiples.h"

namespace hone {
namespace {

// One cache line; kernels may also store whole vectors up to the next line of a padded row.
int64_t aligned(int64_t bytes) { return round_up(std::max<int64_t>(bytes, 1), 64); }

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

// Each range in turn at the lowest offset where nothing that is live at the same time lies.
MemoryPlan place(const std::vector<LiveRange>& ranges, const std::vector<size_t>& order) {
  MemoryPlan plan;
  plan.offsets.assign(ranges.size(), 0);
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

}  // namespace

MemoryPlan plan_memory(const std::vector<LiveRange>& ranges) {
  const int64_t lower_bound = ranges.empty() ? 0 : largest_live_set(ranges);
  const auto steps = [](const LiveRange& r) { return int64_t{r.last_step} - r.first_step + 1; };
  const std::function<int64_t(const LiveRange&)> firsts[] = {[](const LiveRange& r) { return r.bytes; },
                                                             [&](const LiveRange& r) { return r.bytes * steps(r); },
                                                             [](const LiveRange& r) { return -r.first_step; }, steps};
  std::vector<size_t> order(ranges.size());
  MemoryPlan best;
  for (const auto& rank : firsts) {
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](size_t r) { return rank(ranges[r]); });
    MemoryPlan plan = place(ranges, order);
    if (best.offsets.empty() || plan.arena_bytes < best.arena_bytes) best = std::move(plan);
    if (best.arena_bytes == lower_bound) break;
  }
  best.lower_bound = lower_bound;
  return best;
}

}  // namespace hone
