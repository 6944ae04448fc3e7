// The queue of the device: a thread of its own, which does what it is asked some time later.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "device/queue.h"
#include "device/steps/kernel.h"
#include "device/task_thread.h"

namespace hone {

// The code of a plan: the plan, and what interprets it.
struct StepsCode {
  KernelPlan plan;
  const StepsKernel* kernel;
};

// What tests see of the queues of a device, and what they ask to go wrong: the launch behind so many from now on.
struct StepsProbe {
  static constexpr int64_t kNever = -1;
  std::atomic<int64_t> fail_after = kNever;  // throws Error
  std::atomic<int64_t> lose_after = kNever;  // the memory is lost
  std::atomic<int64_t> replays = 0;
};

class StepsQueue : public Queue {
 public:
  StepsQueue(std::shared_ptr<ForeignMemory> memory, std::shared_ptr<StepsProbe> probe)
      : memory_(std::move(memory)), probe_(std::move(probe)), generation_(memory_->generation()) {}

  void write(std::byte* to, std::span<const std::byte> from) override;
  void read(const std::byte* from, std::span<std::byte> to) override;
  void copy(std::byte* to, const std::byte* from, size_t bytes) override;
  void launch(Code code, const KernelArgs& args, const Launch& call, std::span<std::byte* const> scratch) override;
  std::unique_ptr<Replay> prepare(std::span<const QueuedStep> steps) override;
  void run(Replay& replay, std::span<const size_t> changed) override;
  uint64_t record() override { return thread_.record(); }
  void wait(uint64_t event) override { thread_.wait(event); }
  double elapsed_ns(uint64_t from, uint64_t to) override { return thread_.elapsed_ns(from, to); }
  void forget_events() override { thread_.forget_events(); }
  void synchronise() override;

 private:
  void enqueue(std::function<void()> task);

  const std::shared_ptr<ForeignMemory> memory_;
  const std::shared_ptr<StepsProbe> probe_;
  const uint64_t generation_;  // of the memory that it works on
  TaskThread thread_;          // last: its tasks use the others
};

}  // namespace hone
