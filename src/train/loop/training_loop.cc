#include "train/loop/training_loop.h"

#include <cmath>

#include "base/error.h"
#include "base/stop.h"

namespace hone {

TrainingLoop::TrainingLoop(const Batches& data, Schedule schedule, int64_t steps, BatchShare share)
    : data_(data), schedule_(std::move(schedule)), per_epoch_(data.per_epoch()), steps_(steps), share_(share) {}

double TrainingLoop::epochs_seen(int64_t steps) const {
  return static_cast<double>(epochs(steps)) + static_cast<double>(batches(steps)) / static_cast<double>(per_epoch_);
}

void TrainingLoop::run(int64_t begin, int64_t end, const Calls& calls) const {
  if (begin >= end) return;
  BatchReader reader(data_, static_cast<uint64_t>(epochs(end - 1) + 1), static_cast<uint64_t>(epochs(begin)),
                     batches(begin), BatchReader::kAhead, share_);
  for (int64_t number = begin; number < end; ++number) {
    check_stop();
    const std::optional<Batch> batch = reader.next();
    CHECK(batch, "the data end before step {}", end);
    const TrainingStep step{*batch, number, rate(number)};
    const double loss = calls.make(step);
    if (!std::isfinite(loss) && calls.lost) calls.lost(step, loss);
    if (calls.made && !calls.made(step, loss)) return;
  }
}

}  // namespace hone
