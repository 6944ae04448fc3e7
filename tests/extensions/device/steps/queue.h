// The queue of the device: a thread of its own, which does what it is asked some time later.
#pragma once

#include <atomic>
#include <memory>

#include "device/queue.h"
#include "device/steps/kernel.h"
#include "device/task_thread.h"

namespace hone {

// The code of a plan: the plan, and what interprets it.
struct StepsCode {
  KernelPlan plan;
  const StepsKernel* kernel;
};

// What a test asks to go wrong. Counts are of launches from now on, of all queues of a device.
struct StepsFaults {
  static constexpr int64_t kNever = -1;
  std::atomic<int64_t> fail_after = kNever;  // the one behind so many throws Error
  std::atomic<int64_t> lose_after = kNever;  // in the one behind so many the memory is lost
};

class StepsQueue : public Queue {
 public:
  StepsQueue(std::shared_ptr<StepsMemory> memory, std::shared_ptr<StepsFaults> faults)
      : memory_(std::move(memory)), faults_(std::move(faults)) {}

  void write(std::byte* to, std::span<const std::byte> from) override;
  void read(const std::byte* from, std::span<std::byte> to) override;
  void copy(std::byte* to, const std::byte* from, size_t bytes) override;
  void launch(Code code, const KernelArgs& args, const Launch& call, std::span<std::byte* const> scratch) override;
  uint64_t record() override { return thread_.asked(); }
  void wait(uint64_t event) override { thread_.wait(event); }
  void synchronise() override { thread_.synchronise(); }

 private:
  const std::shared_ptr<StepsMemory> memory_;
  const std::shared_ptr<StepsFaults> faults_;
  TaskThread thread_;  // last: its tasks use the others
};

}  // namespace hone
