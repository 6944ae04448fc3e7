#include "device/steps/queue.h"

#include <cstring>

#include "base/stop.h"
#include "device/device_lost.h"

namespace hone {
namespace {

struct KernelCall {
  const StepsCode* code;
  KernelArgs args;
  std::string_view name;
};

// Calls with the arguments of their last run, for the thread of the queue.
struct StepsReplay : Replay {
  std::vector<QueuedStep> steps;  // whose arguments change
  std::shared_ptr<std::vector<KernelCall>> calls = std::make_shared<std::vector<KernelCall>>();
};

// Whether it is this launch's turn to go wrong.
bool is_due(std::atomic<int64_t>& launches) { return launches >= 0 && launches-- == 0; }

void run_call(const KernelCall& call, ForeignMemory& memory, StepsProbe& probe) {
  const std::string_view kernel = call.code->plan.kernel().name;
  if (is_due(probe.fail_after)) fail("{}: the {} kernel of the steps device failed", call.name, kernel);
  if (is_due(probe.lose_after)) memory.lose();
  const Unstoppable whole;  // a stop is seen between launches, by whoever asks for them
  call.code->kernel->run(call.code->plan, call.args, memory);
  steps_tally().ran(kernel);
}

KernelCall call_of(const QueuedStep& step) {
  return {static_cast<const StepsCode*>(step.code), *step.args, step.call->name};
}

}  // namespace

void StepsQueue::enqueue(std::function<void()> task) {
  if (memory_->generation() != generation_) throw DeviceLost("the steps device lost its memory");
  thread_.enqueue(std::move(task));
}

void StepsQueue::write(std::byte* to, std::span<const std::byte> from) {
  if (from.empty()) return;
  enqueue([this, to, from] { std::memcpy(memory_->at(to, from.size()), from.data(), from.size()); });
}

void StepsQueue::read(const std::byte* from, std::span<std::byte> to) {
  if (to.empty()) return;
  enqueue([this, from, to] { std::memcpy(to.data(), memory_->at(from, to.size()), to.size()); });
}

void StepsQueue::copy(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes == 0) return;
  enqueue([this, to, from, bytes] { std::memmove(memory_->at(to, bytes), memory_->at(from, bytes), bytes); });
}

void StepsQueue::launch(Code code, const KernelArgs& args, const Launch& call, std::span<std::byte* const>) {
  enqueue([this, own = call_of({code, &args, &call, {}})] { run_call(own, *memory_, *probe_); });
}

std::unique_ptr<Replay> StepsQueue::prepare(std::span<const QueuedStep> steps) {
  auto replay = std::make_unique<StepsReplay>();
  for (const QueuedStep& step : steps) replay->steps.push_back(step), replay->calls->push_back(call_of(step));
  return replay;
}

// Arguments that changed come along with the task: the calls may still be those of a run under way.
void StepsQueue::run(Replay& replay, std::span<const size_t> changed) {
  const auto& own = static_cast<const StepsReplay&>(replay);
  std::vector<std::pair<size_t, KernelArgs>> args;
  for (size_t i : changed) args.emplace_back(i, *own.steps[i].args);
  enqueue([this, calls = own.calls, args = std::move(args)] {
    for (const auto& [i, changed_args] : args) (*calls)[i].args = changed_args;
    for (const KernelCall& call : *calls) run_call(call, *memory_, *probe_);
    ++probe_->replays;
  });
}

void StepsQueue::synchronise() {
  std::exception_ptr failed;
  try {
    thread_.synchronise();
  } catch (...) {
    failed = std::current_exception();
  }
  if (memory_->generation() != generation_) throw DeviceLost("the steps device lost its memory");
  if (failed) std::rethrow_exception(failed);
}

}  // namespace hone
