// Weights that a run lays out for kernels: parameters where that has not happened to what they are now, and what the
// run or another changes, each time.
#pragma once

#include <vector>

#include "runtime/run_plan.h"
#include "runtime/run_values.h"
#include "runtime/shared_kernels.h"
#include "runtime/workspace.h"

namespace hone {

class RunWeights {
 public:
  RunWeights(const RunPlan& plan, SharedKernels& kernels) : plan_(plan), kernels_(kernels) {}

  void add(size_t step, int position, ValueId seen);  // `seen`: what the node reads. Steps in order
  int64_t bytes() const;

  // Into `workspace.bound`, which refers to them by its arguments.
  void lay_out_kept(const std::map<std::string, Tensor>& inputs, Workspace& workspace) const;
  void lay_out_computed(size_t step, const RunValues& values, Workspace& workspace) const;  // since the run began
  bool computes(size_t step) const;  // whether that has something to do

 private:
  struct LaidOut {
    size_t step;
    int position;   // in KernelArgs::pointers
    ValueId value;  // that holds the memory
    ValueId seen;   // what the node reads: the value, or a view of it
    bool is_kept;   // by the store of parameters
  };
  void put(const LaidOut& each, Buffer& panels, const Tensor& value, const Workspace& workspace) const;
  void point(const LaidOut& each, const Buffer& panels, Workspace& workspace) const;

  const RunPlan& plan_;
  SharedKernels& kernels_;
  std::vector<LaidOut> laid_out_;  // by step
};

}  // namespace hone
