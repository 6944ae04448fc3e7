// What the pointers of kernels' arguments mean, and their addresses in one run.
#pragma once

#include <span>
#include <vector>

#include "runtime/host_steps.h"
#include "runtime/input_view.h"
#include "runtime/run_plan.h"
#include "runtime/run_weights.h"
#include "runtime/shared_kernels.h"
#include "runtime/step_calls.h"
#include "runtime/workspace.h"

namespace hone {

class ArgumentPointers {
 public:
  explicit ArgumentPointers(const RunPlan& plan) : plan_(plan), reads_(plan.graph().inputs().size()) {}

  // Those of all steps. What stays where it is in all runs (constants, as they are or laid out, by `own` where they are
  // this plan's alone) goes into `calls`, weights that runs lay out go to `weights`.
  void find(StepCalls& calls, SharedKernels& shared, OwnWeights& own, RunWeights& weights, const HostSteps& host_steps);

  // The addresses of one run, into `workspace.bound`: copies of inputs that kernels read and that lie elsewhere are
  // asked of its queue, and put into `copies`, which are kept until that is synchronised. Where that throws, nothing is
  // bound. `apart`: where those inputs lie whose elements lie apart. Says whether the run before in the workspace was
  // of these sizes, too.
  bool bind(const StepCalls& calls, const std::map<std::string, Tensor>& inputs, const InputViews& apart,
            std::span<const RunPlan::Planes> outputs, std::vector<Buffer>& copies, Workspace& workspace) const;

 private:
  struct ArenaPointer {
    size_t step;
    int position;  // in KernelArgs::pointers
    int64_t offset;
  };
  struct CallerPointer {
    size_t which;  // plane of inputs or outputs
    size_t step;
    int position;
    int64_t offset;
  };
  struct Found;
  void find(size_t step, int position, const Found& found);
  void bind_inputs(const std::map<std::string, Tensor>& inputs, const InputViews& apart, std::vector<Buffer>& copies,
                   Workspace& workspace) const;

  const RunPlan& plan_;
  std::shared_ptr<const void> identity_ = std::make_shared<const char>();  // what a workspace knows this by
  std::vector<ArenaPointer> arena_, host_;                                 // host_: into the area of copies
  std::vector<CallerPointer> inputs_, outputs_;
  std::vector<bool> reads_;  // inputs: whether a kernel of the device does
};

// A copy on the device; of the host's memory it is whole when the queue is synchronised.
Buffer brought_here(const RunPlan& plan, const Buffer& plane, const Workspace& workspace);

}  // namespace hone
