#include "runtime/recording.h"

#include "runtime/run_plan.h"
#include "runtime/run_weights.h"
#include "runtime/step_calls.h"

namespace hone {
namespace {

constexpr int kFewest = 2;  // launches: one alone is asked for as fast as it is replayed

}  // namespace

std::vector<Stretch> stretches_of(const RunPlan& plan, const StepCalls& calls, const RunWeights& weights) {
  std::vector<Stretch> stretches;
  Stretch open{0, 0};
  int launches = 0;
  const auto close = [&](size_t end) {
    if (launches >= kFewest) stretches.push_back({open.begin, end});
    launches = 0;
  };
  for (size_t i = 0; i < calls.ready.size(); ++i) {
    const StepCalls::How how = calls.ready[i].how;
    const bool is_launch = how == StepCalls::How::kernel && !plan.lowered.steps[i].on_host();
    if (i == plan.arena.first_overwriting || weights.computes(i) || (!is_launch && how != StepCalls::How::nothing))
      close(i);
    if (!is_launch || weights.computes(i)) continue;
    if (launches++ == 0) open.begin = i;
  }
  close(calls.ready.size());
  return stretches;
}

Recording::Recording(std::span<const Stretch> stretches, const StepCalls& calls, std::span<const KernelArgs> args,
                     std::span<std::byte* const> scratch, std::shared_ptr<const Compiler> compiler, Queue& queue)
    : compiler_(std::move(compiler)) {
  for (const Stretch& each : stretches) stretches_.emplace_back(each, calls, args, scratch, queue);
}

Recording::Steps::Steps(const Stretch& stretch, const StepCalls& calls, std::span<const KernelArgs> args,
                        std::span<std::byte* const> scratch, Queue& queue)
    : Stretch(stretch) {
  std::vector<QueuedStep> steps;
  for (size_t i = begin; i < end; ++i) {
    const StepCalls::Ready& ready = calls.ready[i];
    if (ready.how != StepCalls::How::kernel) continue;
    launches_.push_back({i, args[i], ready.call, std::string(ready.call.name)});
    steps.push_back({.code = ready.code, .args = nullptr, .call = nullptr, .scratch = scratch});
  }
  for (size_t k = 0; k < steps.size(); ++k) {  // which stay where they are from here on
    launches_[k].call.name = launches_[k].name;
    steps[k].args = &launches_[k].args, steps[k].call = &launches_[k].call;
  }
  replay_ = queue.prepare(steps);
}

void Recording::Steps::run(std::span<const KernelArgs> args, Queue& queue) {
  changed_.clear();
  for (size_t k = 0; k < launches_.size(); ++k) {
    Launched& each = launches_[k];
    if (each.args.pointers == args[each.step].pointers) continue;
    each.args.pointers = args[each.step].pointers;
    changed_.push_back(k);
  }
  queue.run(*replay_, changed_);
}

}  // namespace hone
