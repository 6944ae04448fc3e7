// Kernels of one plan in tests: compiled without a disk cache, called with plain arrays between guard bytes.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/philox.h"
#include "device/x86/compiler.h"
#include "device/x86/target.h"
#include "kernels/kernel.h"
#include "kernels/pointwise/plan.h"

namespace hone::test {

// The dtype whose elements are values of `type` as they are.
inline DType plain_dtype(Scalar type) {
  switch (type) {
    case Scalar::f32:
      return DType::f32;
    case Scalar::f64:
      return DType::f64;
    case Scalar::i32:
      return DType::i32;
    case Scalar::u32:
      return DType::u32;
    case Scalar::i64:
      return DType::i64;
    case Scalar::u64:
      return DType::u64;
    case Scalar::boolean:
      return DType::boolean;
  }
  return DType::f32;
}

// Bytes between two stretches of a pattern that a kernel must not touch. The data starts `misalign` bytes off a 64-byte
// boundary.
class Guarded {
 public:
  explicit Guarded(size_t bytes, size_t misalign = 4)
      : bytes_(bytes), storage_(bytes + 2 * kGuard + 64 + misalign, std::byte{0xa5}) {
    const auto address = reinterpret_cast<uintptr_t>(storage_.data()) + kGuard;
    start_ = (address + 63) / 64 * 64 - reinterpret_cast<uintptr_t>(storage_.data()) + misalign;
  }
  std::byte* data() { return storage_.data() + start_; }
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data()), bytes_ / sizeof(T)};
  }
  bool intact() const {
    for (size_t i = 0; i < storage_.size(); ++i)
      if ((i < start_ || i >= start_ + bytes_) && storage_[i] != std::byte{0xa5}) return false;
    return true;
  }

 private:
  static constexpr size_t kGuard = 128;
  size_t bytes_, start_ = 0;
  std::vector<std::byte> storage_;
};

class CompiledPlan {
 public:
  CompiledPlan(const KernelPlan& plan, const X86Target& target)
      : plan_(plan), target_(target), library_(target, {.threads = 1, .cache_folder = {}}) {
    kernel_ = function_of(library_.compile(std::span(&plan_, 1))[0]);
  }
  // All items, in pieces of `chunk` (0: one piece).
  template <HasPlaces Args>
  void run(const Args& args, int64_t chunk = 0) {
    run(to_args(args), chunk);
  }
  void run(KernelArgs args, int64_t chunk = 0) {
    const Launch call = launch(plan_, target_, args);
    const int64_t items = call.items;
    scratch_.resize(std::max(scratch_.size(), static_cast<size_t>(call.scratch_bytes) + 64));
    const auto address = (reinterpret_cast<uintptr_t>(scratch_.data()) + 63) / 64 * 64;
    for (int64_t begin = 0; begin < items; begin += chunk ? chunk : items)
      kernel_(&args, begin, std::min(items, begin + (chunk ? chunk : items)), reinterpret_cast<std::byte*>(address));
  }

 private:
  KernelPlan plan_;
  X86Target target_;
  X86Compiler library_;
  KernelFn kernel_ = nullptr;
  std::vector<std::byte> scratch_;
};

// A rank-1 plan over contiguous operands of the program's own types.
inline PointwisePlan flat_plan(const Program& program) {
  PointwisePlan plan;
  for (Scalar type : program.args) plan.operands.push_back({plain_dtype(type), PointwisePlan::Inner::contiguous});
  for (size_t j = 0; j < program.results.size(); ++j)
    plan.results.push_back(plain_dtype(program.result_type(static_cast<int>(j))));
  plan.program = program;
  return plan;
}

// Arguments for such a plan over n elements.
inline KernelArgs flat_args(std::span<void* const> operands, std::span<void* const> results, int64_t n) {
  PointwiseKernelArgs args;
  size_t p = 0;
  for (void* pointer : operands) args.values[p++] = pointer;
  for (void* pointer : results) args.values[p++] = pointer;
  args.sizes[0] = n;
  for (size_t i = 0; i < operands.size(); ++i) args.sizes[1 + i] = 1;
  return to_args(args);
}

}  // namespace hone::test
