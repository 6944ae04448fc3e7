#include "jobs/task.h"

#include "base/stop.h"

namespace hone {

void TaskContext::tell(const std::string& next) const {
  check();
  if (progress) progress(next);
}

void TaskContext::check() const {
  check_stop();
  if (cancelled && cancelled()) throw Stopped(Stop::cancelled);
}

void TaskContext::note(const std::string& sentence) const {
  if (warn) warn(sentence);
}

}  // namespace hone
