// The steps of one plan that the host's kernels run for its device.
#pragma once

#include <map>

#include "runtime/host_step.h"
#include "runtime/run_values.h"
#include "runtime/step_calls.h"

namespace hone {

class HostSteps {
 public:
  HostSteps(const RunPlan& plan, const StepCalls& calls);

  int64_t bytes() const;  // that a run takes of the host: copies of operands and results, and scratch memory
  void reserve(Workspace& workspace) const;
  // Where a pointer of a step whose operands are copied leads to in the area of copies; none where it stays null.
  std::optional<int64_t> place(size_t step, const PointerBinding& pointer) const;
  void run(size_t step, const StepCalls::Ready& ready, const RunValues& values, const Workspace& workspace) const;

 private:
  const RunPlan& plan_;
  const std::shared_ptr<Device> host_;  // null: it runs nothing
  std::map<size_t, HostStep> copied_;   // by step; none where the device's memory is the host's
  int64_t area_bytes_ = 0;
  const int64_t scratch_bytes_;
};

}  // namespace hone
