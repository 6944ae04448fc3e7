// Kernels of one plan for CUDA in tests: compiled to PTX, run on the interpreter with all its checks, over buffers of
// the host.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/device.h"
#include "device/cuda/machine.h"
#include "device/llvm/llvm_kernel.h"
#include "device/llvm/object_compiler.h"
#include "kernels/kernel.h"
#include "tests/ptx/run_kernel.h"
#include "tests/support/ptx/machine.h"

namespace hone::test {

template <class T>
using DeviceVector = ptx::test::Vector<T>;  // at an address as a device's allocator gives them

// What a kernel may reach: all else is a fault.
struct DeviceBuffer {
  std::span<std::byte> bytes;
  bool writable = true;
};
template <class Elements>
DeviceBuffer reads(Elements& elements) {
  return {std::as_writable_bytes(std::span(elements)), false};
}
template <class Elements>
DeviceBuffer writes(Elements& elements) {
  return {std::as_writable_bytes(std::span(elements))};
}

class CudaPlan {
 public:
  CudaPlan(KernelPlan plan, const CudaTarget& target) : plan_(std::move(plan)), device_(target) {
    const auto& kernel = static_cast<const LlvmKernel&>(implementation_of(device_, plan_));
    const Support support = kernel.supports(device_, plan_);
    CHECK(support.supported(), "{}", support.why);
    const ObjectCode code =
        ObjectCompiler(code_machine(target)).compile([&](Emitter& e) { kernel.emit(e, plan_, "kernel", 0); });
    ptx_.assign(reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size());
    module_ = ptx::parse(ptx_);
  }

  const std::string& ptx() const { return ptx_; }
  const ptx::Module& module() const { return module_; }
  const ptx::Kernel& kernel() const { return module_.kernels.at(0); }

  // All blocks, the last one first where `backwards`. Pointers of the arguments are those of the host.
  ptx::Counts run(KernelArgs args, std::span<const DeviceBuffer> buffers, bool backwards = false,
                  ptx::Sums sums = ptx::Sums::once) const {
    const Launch call = launch(device_, plan_, args);
    if (call.items == 0) return {.code = std::vector<ptx::LineCounts>(kernel().code.size())};
    ptx::Memory memory;
    for (const DeviceBuffer& b : buffers)
      if (!b.bytes.empty()) memory.add(b.bytes, b.writable ? ptx::Memory::Access::write : ptx::Memory::Access::read);
    DeviceVector<std::byte> scratch(static_cast<size_t>(call.scratch_bytes));
    if (!scratch.empty()) memory.add(std::span(scratch));
    struct {
      KernelArgs args;
      const std::byte* scratch;
      int64_t items;
    } const params{args, scratch.data(), call.items};
    const ptx::Launch how{.grid = {static_cast<uint32_t>(call.items), 1, 1},
                          .block = {static_cast<uint32_t>(call.threads_per_item), 1, 1},
                          .shared_bytes = call.shared_bytes,
                          .sums = sums,
                          .backwards = backwards};
    return ptx::run(module_, kernel(), how, std::as_bytes(std::span(&params, 1)), memory);
  }
  template <HasPlaces Args>
  ptx::Counts run(const Args& args, std::initializer_list<DeviceBuffer> buffers, bool backwards = false) const {
    return run(to_args(args), std::span(buffers.begin(), buffers.size()), backwards);
  }

  // Sectors of global memory over those that the bytes asked for fill, at least; 1 is best.
  double sectors_over_least(const ptx::Counts& counts) const {
    const ptx::LineCounts global = counts.all();
    return static_cast<double>(global.sectors) * 32 / static_cast<double>(global.bytes);
  }
  double bank_cycles_over_least(const ptx::Counts& counts) const {
    const ptx::LineCounts shared = counts.all();
    return static_cast<double>(shared.bank_cycles) / static_cast<double>(shared.bank_least);
  }

 private:
  KernelPlan plan_;
  CudaDevice device_;
  std::string ptx_;
  ptx::Module module_;
};

}  // namespace hone::test
