// NVIDIA GPUs as a device. CudaDevice is what follows from a target alone: which classes it has, and their code. A
// CudaGpu (device/cuda/gpu.h) has memory and queues, too.
#pragma once

#include <memory>

#include "device/cuda/target.h"
#include "device/device.h"

namespace hone {

// A GPU that is not there: it plans, explains and compiles for its target, on machines without a driver. Weights can be
// laid out, in memory of the host's; a launch is an Error.
class CudaDevice : public Device, public std::enable_shared_from_this<CudaDevice> {
 public:
  explicit CudaDevice(CudaTarget target) : target_(std::move(target)) {}
  const CudaTarget& target() const { return target_; }

  std::string_view name() const override { return "cuda"; }
  std::string variant() const override { return to_string(target_); }
  std::string abilities() const override;
  bool is_host() const override { return false; }
  Buffer allocate(size_t bytes) override;
  void read(const std::byte* from, std::span<std::byte> to) override;
  std::unique_ptr<Queue> make_queue() override;
  int scratch_areas(int) const override { return 1; }  // one for the items of a launch
  const KernelImplementation* find(const KernelDef& kernel) const override;
  std::unique_ptr<Compiler> make_compiler(const CompilerOptions& options) override;
  std::string code_key(const KernelPlan& plan) const override;
  int64_t compile_bytes(int threads, int64_t kernels) const override;
  std::string why_no_bf16() const override;
  std::string why_no_training() const override;

 private:
  const CudaTarget target_;
};

// The target of a device whose implementations are CUDA's.
inline const CudaTarget& target_of_cuda(const Device& device) {
  return static_cast<const CudaDevice&>(device).target();
}

}  // namespace hone
