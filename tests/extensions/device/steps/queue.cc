#include "device/steps/queue.h"

#include <cstring>

#include "base/stop.h"

namespace hone {
namespace {

// Whether it is this launch's turn to fail.
bool is_due(std::atomic<int64_t>& launches) { return launches.load() >= 0 && launches.fetch_sub(1) == 0; }

void run(const StepsCode& code, const KernelArgs& args, StepsMemory& memory, StepsFaults& faults) {
  if (is_due(faults.fail_after)) fail("the steps device: a {} kernel failed", code.plan.kernel().name);
  if (is_due(faults.lose_after)) memory.lose();
  const Unstoppable whole;  // a stop is seen between launches, by whoever asks for them
  code.kernel->run(code.plan, args, memory);
  steps_tally().ran(code.plan.kernel().name);
}

}  // namespace

void StepsQueue::write(std::byte* to, std::span<const std::byte> from) {
  if (from.empty()) return;
  thread_.enqueue([this, to, from] { std::memcpy(memory_->at(to, from.size()), from.data(), from.size()); });
}

void StepsQueue::read(const std::byte* from, std::span<std::byte> to) {
  if (to.empty()) return;
  thread_.enqueue([this, from, to] { std::memcpy(to.data(), memory_->at(from, to.size()), to.size()); });
}

void StepsQueue::copy(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes == 0) return;
  thread_.enqueue([this, to, from, bytes] { std::memmove(memory_->at(to, bytes), memory_->at(from, bytes), bytes); });
}

void StepsQueue::launch(Code code, const KernelArgs& args, const Launch&, std::span<std::byte* const>) {
  thread_.enqueue([this, code = static_cast<const StepsCode*>(code), args] { run(*code, args, *memory_, *faults_); });
}

}  // namespace hone
