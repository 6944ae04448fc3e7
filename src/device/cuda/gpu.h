// A GPU that is there.
#pragma once

#include "device/cuda/context.h"
#include "device/cuda/device.h"

namespace hone {

class CudaGpu : public CudaDevice {
 public:
  CudaGpu(CudaTarget target, std::shared_ptr<CudaContext> context)
      : CudaDevice(std::move(target)), context_(std::move(context)) {}

  std::string choice() const override;  // "0": its number
  std::string abilities() const override;
  Buffer allocate(size_t bytes) override;
  std::optional<int64_t> free_bytes() const override { return context_->free_bytes(); }
  void read(const std::byte* from, std::span<std::byte> to) override;
  std::unique_ptr<Queue> make_queue() override;
  uint64_t generation() const override { return context_->generation(); }
  std::unique_ptr<Compiler> make_compiler(const CompilerOptions& options) override;
  std::vector<std::string> notes() const override;

  CudaContext& context() const { return *context_; }

 private:
  const std::shared_ptr<CudaContext> context_;
};

// The process's one of that number: all who open it have the same as long as one of them has it. Throws Error where
// there is no driver or no such GPU, and for one that no code is generated for.
std::shared_ptr<CudaGpu> open_gpu(int ordinal);

DeviceFacts cuda_facts();  // of those that are open: asking for others would load a driver

}  // namespace hone
