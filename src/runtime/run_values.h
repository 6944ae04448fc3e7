// The values of a run that is under way, for what the host computes of it.
#pragma once

#include <map>
#include <span>
#include <string>

#include "runtime/run_plan.h"
#include "runtime/workspace.h"

namespace hone {

class RunValues {
 public:
  // `inputs`: of the run.
  RunValues(const RunPlan& plan, const Workspace& workspace, const std::map<std::string, Tensor>& inputs)
      : plan_(plan), workspace_(workspace), inputs_(inputs) {}

  Queue& queue() const { return workspace_.queue(); }  // that of the run
  std::byte* address(ValueId v, size_t plane) const;   // of the device; null: of an input that its kernels do not read
  Tensor view(ValueId v) const;                        // for the host to read: where the value lies, or a copy
  void read(ValueId v, size_t plane, std::span<std::byte> to) const;  // done when the queue is synchronised
  void set(ValueId v,
           const Tensor& value) const;  // on a device, done when its queue is synchronised: keep it until then

 private:
  const Buffer* at_caller(ValueId v, size_t plane) const;

  const RunPlan& plan_;
  const Workspace& workspace_;
  const std::map<std::string, Tensor>& inputs_;
};

}  // namespace hone
