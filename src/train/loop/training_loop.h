// The loop of every training: the batches of its epochs in order, a step for each with the rate of its number, a loss
// that must be a number, and what follows. How far a training is, is how many steps it has made and nothing else: one
// that goes on from a checkpoint makes the same steps.
#pragma once

#include <functional>

#include "data/batch_reader.h"
#include "train/schedules/schedule.h"

namespace hone {

struct TrainingStep {
  const Batch& batch;
  int64_t number;  // from 0 on
  double rate;
};

class TrainingLoop {
 public:
  // `data` must outlive it. `share`: of each batch, where several processes have one.
  TrainingLoop(const Batches& data, Schedule schedule, int64_t steps, BatchShare share = {});

  struct Calls {
    std::function<double(const TrainingStep& step)> make;                  // one update; its loss
    std::function<void(const TrainingStep& step, double loss)> lost = {};  // of a loss that is no number; mostly throws
    std::function<bool(const TrainingStep& step, double loss)> made = {};  // what follows; false: no more steps
  };
  // The steps from `begin` on, up to before `end`. Each looks first whether the program is to stop: throws Stopped.
  void run(int64_t begin, int64_t end, const Calls& calls) const;

  int64_t steps() const { return steps_; }
  int64_t per_epoch() const { return per_epoch_; }
  double rate(int64_t step) const { return schedule_.rate(step); }
  // Where a training is after so many steps: whole epochs, and batches of the next.
  int64_t epochs(int64_t steps) const { return steps / per_epoch_; }
  int64_t batches(int64_t steps) const { return steps % per_epoch_; }
  double epochs_seen(int64_t steps) const;

 private:
  const Batches& data_;
  const Schedule schedule_;
  const int64_t per_epoch_, steps_;
  const BatchShare share_;
};

}  // namespace hone
