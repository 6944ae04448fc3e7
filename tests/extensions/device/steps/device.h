// A device with code for two kernel classes, pointwise and gather, which it interprets on a thread of its own, in
// memory that no process can read. It shows what a device takes (docs/adding.md), and goes wrong when a test asks.
#pragma once

#include <memory>
#include <span>

#include "device/device.h"
#include "device/steps/queue.h"

namespace hone {

class StepsDevice : public Device, public std::enable_shared_from_this<StepsDevice> {
 public:
  explicit StepsDevice(std::span<const StepsKernel* const> kernels = kStepsKernels) : kernels_("steps", kernels) {}

  std::string_view name() const override { return "steps"; }
  bool is_host() const override { return false; }
  Buffer allocate(size_t bytes) override;
  void read(const std::byte* from, std::span<std::byte> to) override;
  std::unique_ptr<Queue> make_queue() override { return std::make_unique<StepsQueue>(memory_, probe_); }
  int scratch_areas(int) const override { return 1; }
  uint64_t generation() const override { return memory_->generation(); }
  const KernelImplementation* find(const KernelDef& kernel) const override { return kernels_.find(kernel); }
  std::unique_ptr<Compiler> make_compiler(const CompilerOptions& options) override;

  ForeignMemory& memory() { return *memory_; }
  StepsProbe& probe() { return *probe_; }

 private:
  const ImplementationTable<StepsKernel> kernels_;
  const std::shared_ptr<ForeignMemory> memory_ =
      std::make_shared<ForeignMemory>("steps");  // buffers and queues outlive the device
  const std::shared_ptr<StepsProbe> probe_ = std::make_shared<StepsProbe>();
};

}  // namespace hone
