#include "data/epoch_plan.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "base/hash.h"
#include "data/splits.h"

namespace hone {
namespace {

std::vector<int64_t> shuffled(std::span<const int64_t> rows, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> result;
  for (int64_t at : permutation(std::ssize(rows), seed, epoch)) result.push_back(rows[static_cast<size_t>(at)]);
  return result;
}

// Equal lengths stay in the order that they have.
void sort_windows(std::vector<int64_t>& rows, int64_t window, const std::function<int64_t(int64_t)>& length) {
  for (auto begin = rows.begin(); begin != rows.end();) {
    const auto end = begin + std::min(window, static_cast<int64_t>(rows.end() - begin));
    std::stable_sort(begin, end, [&](int64_t a, int64_t b) { return length(a) < length(b); });
    begin = end;
  }
}

EpochPlan cut(const std::vector<int64_t>& rows, int64_t batch, bool drop_last) {
  EpochPlan plan;
  for (auto begin = rows.begin(); begin != rows.end();) {
    const auto end = begin + std::min(batch, static_cast<int64_t>(rows.end() - begin));
    if (!drop_last || end - begin == batch) plan.emplace_back(begin, end);
    begin = end;
  }
  return plan;
}

}  // namespace

EpochPlan plan_epoch(std::span<const int64_t> rows, const BatchOrder& order, uint64_t epoch,
                     const std::function<int64_t(int64_t)>& length) {
  if (order.batch < 1) fail("a batch of {} rows; at least 1 is needed", order.batch);
  if (order.window < 1) fail("batches are sorted by length in windows of {}; at least 1 is needed", order.window);
  if (order.drop_last && order.batch > std::ssize(rows))
    fail("a batch of {} rows, but there are {}; give a smaller one", order.batch, rows.size());
  std::vector<int64_t> sequence =
      order.shuffle ? shuffled(rows, order.seed, epoch) : std::vector<int64_t>(rows.begin(), rows.end());
  if (order.window > 1) sort_windows(sequence, checked_mul(order.window, order.batch), length);
  EpochPlan plan = cut(sequence, order.batch, order.drop_last);
  if (order.window == 1 || !order.shuffle) return plan;
  EpochPlan mixed;  // so that short and long batches are not in turns
  for (int64_t at : permutation(std::ssize(plan), hash_text("batches", order.seed), epoch))
    mixed.push_back(std::move(plan[static_cast<size_t>(at)]));
  return mixed;
}

}  // namespace hone
