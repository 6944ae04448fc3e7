#include "runtime/executable.h"

#include "base/stop.h"
#include "base/threads.h"
#include "runtime/check_finite.h"
#include "runtime/drained.h"
#include "runtime/memory_needs.h"
#include "runtime/run_outputs.h"
#include "runtime/step_times.h"

namespace hone {

Executable::Executable(std::shared_ptr<PreparedGraph> prepared, RunSizes sizes, SharedKernels& shared, int64_t held)
    : plan_(std::make_shared<const RunPlan>(shared.device, shared.threads, std::move(prepared), std::move(sizes))),
      calls_(*plan_),
      host_steps_(*plan_, calls_),
      own_weights_(shared),
      run_weights_(*plan_, shared),
      pointers_(*plan_),
      scratch_areas_(shared.device->scratch_areas(shared.threads)),
      shared_values_(shared.values),
      generation_(shared.generation),
      compiler_(shared.compiler) {
  require_memory_for_runs(*plan_, calls_, shared, own_weights_, host_steps_, scratch_areas_, held);
  calls_.find_code(*plan_, shared);
  pointers_.find(calls_, shared, own_weights_, run_weights_, host_steps_);
  if (!plan_->on_host) stretches_ = stretches_of(*plan_, calls_, run_weights_);
}

void Executable::reserve(Workspace& workspace) const {
  workspace.reserve(plan_->device, generation_, plan_->arena.bytes, calls_.scratch_bytes, scratch_areas_);
  host_steps_.reserve(workspace);
}

// The steps of one run, whose arguments are bound.
class Executable::Run {
 public:
  Run(const Executable& executable, const NamedTensors& inputs, Workspace& workspace, const Watch& watch,
      Recording* recording)
      : plan_(*executable.plan_),
        calls_(executable.calls_),
        host_steps_(executable.host_steps_),
        weights_(executable.run_weights_),
        inputs_(inputs),
        workspace_(workspace),
        values_(plan_, workspace, inputs),
        watch_(watch),
        recording_(recording),
        times_(workspace.queue(), watch.profile),
        scratch_(workspace.scratch(executable.scratch_areas_)),
        written_(plan_.written.begin()) {}

  void steps() {
    for (size_t i : calls_.checked_first) check_operands(i);
    times_.begin();
    size_t next = 0;
    for (Recording::Steps& stretch : recording_ ? recording_->stretches() : std::span<Recording::Steps>()) {
      steps(next, stretch.begin);
      enter(stretch.begin);
      stretch.run(workspace_.bound.args, workspace_.queue());
      next = stretch.end;
    }
    steps(next, calls_.ready.size());
    times_.finish();
  }

  // Whether it has begun to: a device may fail even then.
  bool overwrites() const { return overwriting_.has_value(); }
  const RunValues& values() const { return values_; }

 private:
  void steps(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      enter(i);
      weights_.lay_out_computed(i, values_, workspace_);
      compute(i);
      times_.end_step();
      if (watch_.written && plan_.on_host) tell_of_written(i);
      if (watch_.check) require_finite_results(i);
    }
  }

  void enter(size_t i) {
    if (i < plan_.arena.first_overwriting) return workspace_.check_step();
    if (overwriting_) return;
    workspace_.queue().synchronise();  // what fails of the steps before has changed nothing
    overwriting_.emplace();
  }

  void check_operands(size_t i) const {
    check_trusted(plan_, plan_.lowered.steps[i], workspace_.bound.args[i], values_);
  }

  void compute(size_t i) const {
    const StepCalls::Ready& ready = calls_.ready[i];
    if (ready.how == StepCalls::How::nothing) return;
    if (ready.how == StepCalls::How::interpreted) return calls_.interpreted.at(i).run(values_);
    if (ready.how == StepCalls::How::checked) check_operands(i);
    if (plan_.lowered.steps[i].on_host()) return host_steps_.run(i, ready, values_, workspace_);
    workspace_.queue().launch(ready.code, workspace_.bound.args[i], ready.call, scratch_);
  }

  void tell_of_written(size_t step) {
    for (; written_ != plan_.written.end() && written_->step == step; ++written_) {
      const Output& output = plan_.graph().outputs()[written_->output];
      const auto bytes = static_cast<size_t>(plan_.bytes_of(output.value));
      (*watch_.written)(plan_.graph().value(output.updates).label,
                        {workspace_.bound.outputs[written_->output * kPlanes], bytes});
    }
  }

  // Steps of one group may write the parts of a value one after the other.
  bool is_whole(size_t i, ValueId v) const {
    const std::vector<Step>& steps = plan_.lowered.steps;
    for (size_t next = i + 1; next < steps.size() && steps[next]->group.nodes == steps[i]->group.nodes; ++next)
      if (std::ranges::find(steps[next]->writes, v) != steps[next]->writes.end()) return false;
    return true;
  }

  void require_finite_results(size_t i) const {
    const Step& step = plan_.lowered.steps[i];
    std::vector<ValueId> operands;
    for (ValueId v : step->reads) operands.push_back(plan_.holder(v));
    for (ValueId v : step->writes)
      if (is_whole(i, v)) require_finite(plan_.graph(), v, values_.view(v), plan_.ops_of(step), operands, inputs_);
  }

  const RunPlan& plan_;
  const StepCalls& calls_;
  const HostSteps& host_steps_;
  const RunWeights& weights_;
  const NamedTensors& inputs_;
  Workspace& workspace_;
  const RunValues values_;
  const Watch& watch_;
  Recording* const recording_;  // null: all launches are asked for one by one
  StepTimes times_;
  const std::span<std::byte* const> scratch_;
  std::vector<RunPlan::Written>::const_iterator written_;
  std::optional<Unstoppable> overwriting_;  // from the first step that does so
};

std::unique_ptr<Recording> Executable::recording(Workspace& workspace) const {
  if (workspace.bound.recording) return std::move(workspace.bound.recording);
  return std::make_unique<Recording>(stretches_, calls_, workspace.bound.args, workspace.scratch(scratch_areas_),
                                     compiler_, workspace.queue());
}

std::vector<Tensor> Executable::run(const NamedTensors& inputs, const InputViews& apart, NamedTensors* lent,
                                    const OutputViews& views, Workspace& workspace, const Watch& watch) const {
  const Busy busy;
  std::vector<RunPlan::Planes> memory, read;
  std::vector<Buffer> copies;                // of inputs, on the device
  std::unique_ptr<Recording> replayed;       // goes where the run fails: what the queue has seen of it is not known
  const Drained drained(workspace.queue());  // before what it reads and writes goes
  place_outputs(*plan_, inputs, watch.check ? nullptr : lent, views, workspace, memory);
  read = memory_of_callers(*plan_, memory, views);  // while nothing is written over that may be lost
  const bool is_known = pointers_.bind(calls_, inputs, apart, memory, copies, workspace);
  run_weights_.lay_out_kept(inputs, workspace);
  if (is_known && !stretches_.empty() && !watch.profile && !watch.check) replayed = recording(workspace);
  Run run(*this, inputs, workspace, watch, replayed.get());
  try {
    run.steps();
    std::vector<Tensor> results = results_of_run(*plan_, memory, read, run.values());
    if (replayed) workspace.bound.recording = std::move(replayed);
    return results;
  } catch (const DeviceLost&) {  // what lay there is of a generation that is over
    throw;
  } catch (...) {
    if (lent && run.overwrites()) drop_overwritten(*plan_, memory, *lent);
    throw;
  }
}

}  // namespace hone
