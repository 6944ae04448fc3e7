#include "runtime/memory_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "base/checked.h"
#include "base/multiples.h"
#include "base/stop.h"

namespace hone {
namespace {

// One cache line; kernels may also store whole vectors up to the next line of a padded row.
int64_t aligned(int64_t bytes) { return checked_add(std::max<int64_t>(bytes, 1), 63) / 64 * 64; }

bool overlap_in_time(const LiveRange& a, const LiveRange& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

int64_t largest_live_set(const std::vector<LiveRange>& ranges) {
  int last = 0;
  for (const LiveRange& r : ranges) last = std::max(last, r.last_step);
  std::vector<int64_t> change(static_cast<size_t>(last) + 2, 0);
  for (const LiveRange& r : ranges) {
    int64_t& begins = change[static_cast<size_t>(r.first_step)];
    begins = checked_add(begins, aligned(r.bytes));
    change[static_cast<size_t>(r.last_step) + 1] -= aligned(r.bytes);
  }
  int64_t live = 0, most = 0;
  for (int64_t c : change) most = std::max(most, live = checked_add(live, c));
  return most;
}

// Each range in turn at the lowest offset where nothing that is live at the same time lies.
MemoryPlan place(const std::vector<LiveRange>& ranges, const std::vector<size_t>& order) {
  MemoryPlan plan;
  plan.offsets.assign(ranges.size(), 0);
  std::vector<size_t> placed;
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (size_t r : order) {
    check_stop();
    taken.clear();
    for (size_t p : placed)
      if (overlap_in_time(ranges[r], ranges[p]))
        taken.emplace_back(plan.offsets[p], checked_add(plan.offsets[p], aligned(ranges[p].bytes)));
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (checked_add(offset, aligned(ranges[r].bytes)) <= begin) break;
      offset = std::max(offset, end);
    }
    plan.offsets[r] = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, checked_add(offset, aligned(ranges[r].bytes)));
    placed.push_back(r);
  }
  return plan;
}

// Free stretches of the arena, which has no end.
class FreeList {
 public:
  // The smallest stretch that has room, else behind everything.
  int64_t take(int64_t bytes) {
    const auto found = by_size_.lower_bound({bytes, 0});
    if (found == by_size_.end()) {
      const int64_t at = end_;
      end_ = checked_add(end_, bytes);
      return at;
    }
    const auto [size, at] = *found;
    remove(at, size);
    if (size > bytes) add(at + bytes, size - bytes);
    return at;
  }

  void give_back(int64_t at, int64_t bytes) {
    auto next = by_place_.lower_bound(at);
    if (next != by_place_.end() && next->first == at + bytes) {
      const auto [place, size] = *next;
      bytes += size;
      next = std::next(next);
      remove(place, size);
    }
    if (next != by_place_.begin())
      if (const auto [place, size] = *std::prev(next); place + size == at) {
        remove(place, size);
        at = place, bytes += size;
      }
    if (at + bytes == end_) end_ = at;
    else add(at, bytes);
  }

 private:
  void add(int64_t at, int64_t size) { by_place_[at] = size, by_size_.insert({size, at}); }
  void remove(int64_t at, int64_t size) { by_place_.erase(at), by_size_.erase({size, at}); }

  std::map<int64_t, int64_t> by_place_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t end_ = 0;
};

// Step by step, as an allocator would: what ends before a step is free for what begins there, the largest first.
MemoryPlan place_in_order(const std::vector<LiveRange>& ranges) {
  MemoryPlan plan;
  plan.offsets.assign(ranges.size(), 0);
  std::vector<size_t> begins(ranges.size()), ends(ranges.size());
  std::iota(begins.begin(), begins.end(), size_t{0});
  std::iota(ends.begin(), ends.end(), size_t{0});
  std::ranges::stable_sort(begins, [&](size_t a, size_t b) {
    return std::pair(ranges[a].first_step, -ranges[a].bytes) < std::pair(ranges[b].first_step, -ranges[b].bytes);
  });
  std::ranges::stable_sort(ends, {}, [&](size_t r) { return ranges[r].last_step; });
  FreeList stretches;
  auto ending = ends.begin();
  for (size_t r : begins) {
    for (; ranges[*ending].last_step < ranges[r].first_step; ++ending)
      stretches.give_back(plan.offsets[*ending], aligned(ranges[*ending].bytes));
    plan.offsets[r] = stretches.take(aligned(ranges[r].bytes));
    plan.arena_bytes = std::max(plan.arena_bytes, checked_add(plan.offsets[r], aligned(ranges[r].bytes)));
  }
  return plan;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<LiveRange>& ranges) {
  const int64_t lower_bound = ranges.empty() ? 0 : largest_live_set(ranges);
  constexpr size_t kFewRanges = 4096;  // comparing each with each is a matter of milliseconds
  if (ranges.size() > kFewRanges) {
    MemoryPlan plan = place_in_order(ranges);
    plan.lower_bound = lower_bound;
    return plan;
  }
  // Numbers to order by: those that a double rounds belong to ranges that no machine has room for.
  using Rank = std::function<double(const LiveRange&)>;
  const auto bytes = [](const LiveRange& r) { return static_cast<double>(r.bytes); };
  const auto steps = [](const LiveRange& r) { return static_cast<double>(r.last_step) - r.first_step + 1; };
  const Rank firsts[] = {bytes, [&](const LiveRange& r) { return bytes(r) * steps(r); },
                         [](const LiveRange& r) { return -static_cast<double>(r.first_step); }, steps};
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
