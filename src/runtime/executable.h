// A model made ready for one set of sizes: steps with machine code and addresses.
#pragma once

#include <memory>
#include <vector>

#include "runtime/argument_pointers.h"
#include "runtime/host_steps.h"
#include "runtime/input_view.h"
#include "runtime/output_view.h"
#include "runtime/recording.h"
#include "runtime/run_plan.h"
#include "runtime/run_weights.h"
#include "runtime/session.h"
#include "runtime/shared_kernels.h"
#include "runtime/step_calls.h"
#include "runtime/step_profiles.h"
#include "runtime/workspace.h"

namespace hone {

// Nothing in it changes while it runs, so any number of runs may be under way, each with a workspace of its own.
class Executable {
 public:
  // Throws Error, before code is generated or weights are laid out, when a run would need more memory than the process
  // may take; `held` bytes of it are there already.
  Executable(std::shared_ptr<PreparedGraph> prepared, RunSizes sizes, SharedKernels& shared, int64_t held);

  // Who looks on while steps run.
  struct Watch {
    RunProfile* profile = nullptr;  // gets the marks of the steps: a first one, unless it has that, and each one's end
    bool check = false;             // every result must be finite (check_finite.h)
    const UpdateWritten* written = nullptr;
  };

  void reserve(Workspace& workspace) const;  // what a run takes. Throws DeviceLost when that is void by now
  // In a workspace that has that, and has begun a run. `apart`: where those inputs lie whose elements lie apart.
  // `views` are memory for outputs, checked; what is returned of those that lie apart is an empty tensor. `lent`, null
  // or &inputs: those that the graph updates may be written over, once nothing can fail any more. Where a device fails
  // later even so, they are taken out of it: nobody has them then.
  std::vector<Tensor> run(const NamedTensors& inputs, const InputViews& apart, NamedTensors* lent,
                          const OutputViews& views, Workspace& workspace, const Watch& watch) const;

  std::vector<StepProfile> profiles() const { return step_profiles(*plan_); }

  const Arena& arena() const { return plan_->arena; }
  int64_t scratch_bytes() const { return calls_.scratch_bytes; }
  int64_t output_bytes() const { return plan_->output_bytes(); }
  int64_t own_weight_bytes() const { return own_weights_.bytes(); }
  int64_t laid_out_bytes() const { return run_weights_.bytes(); }  // of weights that are no constants
  const LoweredGraph& lowered() const { return plan_->lowered; }
  const Graph& graph() const { return plan_->graph(); }
  ValueId shared_values() const { return shared_values_; }  // ids below are those of the stage's graph

 private:
  class Run;
  std::unique_ptr<Recording> recording(Workspace& workspace) const;  // what is there, or a new one

  std::shared_ptr<const RunPlan> plan_;  // that the others refer to
  StepCalls calls_;
  HostSteps host_steps_;
  OwnWeights own_weights_;
  RunWeights run_weights_;
  ArgumentPointers pointers_;
  int scratch_areas_;
  ValueId shared_values_;
  uint64_t generation_;  // of the device's memory that it is for
  std::shared_ptr<const Compiler> compiler_;
  std::vector<Stretch> stretches_;  // that queues replay; the host's replay none
};

}  // namespace hone
