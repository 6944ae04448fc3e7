// When the steps of a run end, by the events of its queue.
#pragma once

#include <cstdint>
#include <vector>

#include "device/queue.h"
#include "runtime/profile.h"

namespace hone {

class StepTimes {
 public:
  // `profile` gets the marks of the steps; null: nobody asks, and nothing is done.
  StepTimes(Queue& queue, RunProfile* profile) : queue_(queue), profile_(profile) {}

  void begin();     // before the first step
  void end_step();  // of what was asked of the queue since the one before
  void finish();    // behind the last step, which ends first

 private:
  Queue& queue_;
  RunProfile* const profile_;
  int64_t begin_ns_ = 0;  // of steady_ns(), when `begin_` happened
  uint64_t begin_ = 0;
  std::vector<uint64_t> ends_;
};

}  // namespace hone
