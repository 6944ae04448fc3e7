// What a caller gives a task beside values and options: who is told of it, who may end it, and how a measurement that
// needs a process of its own gets one. Empty functions: nobody is told, nobody ends it, such measurements are left out.
#pragma once

#include <functional>
#include <string>

#include "jobs/progress.h"

namespace hone {

struct ProbeOptions;  // probe.h
struct ProbeResult;

struct TaskContext {
  Progress progress = {};                                                    // what comes next: "timing"
  std::function<void(const std::string& sentence)> warn = {};                // what one should know, as it is found
  std::function<bool()> cancelled = {};                                      // asked between steps; true: Stopped
  std::function<ProbeResult(const ProbeOptions& options)> new_process = {};  // runs the probe in a process of its own

  void tell(const std::string& next) const;  // the progress; throws Stopped where the caller has cancelled
  void check() const;                        // throws Stopped where the caller has cancelled
  void note(const std::string& sentence) const;
};

}  // namespace hone
