#include "runtime/step_times.h"

#include "base/clock.h"

namespace hone {

void StepTimes::begin() {
  if (!profile_) return;
  queue_.forget_events();  // of a run that failed
  queue_.synchronise();
  begin_ns_ = steady_ns();
  begin_ = queue_.record();
  if (profile_->marks_ns.empty()) profile_->marks_ns.push_back(begin_ns_);
}

void StepTimes::end_step() {
  if (profile_) ends_.push_back(queue_.record());
}

void StepTimes::finish() {
  if (!profile_) return;
  queue_.synchronise();
  for (uint64_t end : ends_)
    profile_->marks_ns.push_back(begin_ns_ + static_cast<int64_t>(queue_.elapsed_ns(begin_, end)));
  queue_.forget_events();
}

}  // namespace hone
