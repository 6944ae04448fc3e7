// The values of a run that is under way, for what the host computes of it.
#pragma once

#include "runtime/run_plan.h"
#include "runtime/workspace.h"

namespace hone {

class RunValues {
 public:
  RunValues(const RunPlan& plan, const Workspace& workspace) : plan_(plan), workspace_(workspace) {}

  Queue& queue() const { return workspace_.queue(); }  // that of the run
  std::byte* address(ValueId v, size_t plane) const;   // of the device
  Tensor view(ValueId v) const;                        // for the host to read: where the value lies, or a copy
  void set(ValueId v,
           const Tensor& value) const;  // on a device, done when its queue is synchronised: keep it until then

 private:
  const RunPlan& plan_;
  const Workspace& workspace_;
};

}  // namespace hone
