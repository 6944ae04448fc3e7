// What CUDA says of a kernel class: one CudaKernelDef a class, in the file or folder of device/cuda that has its name.
//
// An item of a Launch is a block. Code is a PTX kernel of (KernelArgs by value, scratch, items), which begin_kernel()
// begins (device/cuda/emitter.h).
#pragma once

#include <string>

#include "device/cuda/device.h"
#include "device/cuda/emitter.h"
#include "device/implementation_of.h"
#include "device/llvm/llvm_kernel.h"
#include "kernels/kernel.h"

namespace hone {

struct CudaKernelDef : LlvmKernel {};

template <>
inline const CudaTarget& told_of<CudaTarget>(const Device& device) {
  return target_of_cuda(device);
}

inline constexpr int kCudaThreads = 128;  // of a block, where a class does not say

// A CudaKernelDef as its class states it, of plans and arguments of its own types; arguments that differ by the plan
// are KernelArgs.
template <class Plan, class Args>
struct CudaKernelClass {
  Given<Support(const CudaDevice&, const Lowering&, Prepared&)> adapt = {};
  Given<Support(const Plan&, const CudaTarget&)> supports;
  Given<Launch(const Plan&, const CudaTarget&, Args&)> launch;  // threads_per_item follows from `threads`
  Given<std::string(const Plan&, const CudaTarget&)> describe;
  Given<void(CudaEmitter&, const Plan&, const std::string&, int)> emit;
  // Elements of the vectors of a thread: 1, 2, 4 or 8. 4 where it is not given.
  Given<int(const Plan&, const CudaTarget&)> lanes = {};
  // Of a block: a multiple of 32. kCudaThreads where it is not given.
  Given<int(const Plan&, const CudaTarget&)> threads = {};
  Given<bool(const Plan&, const CudaTarget&, int)> can_shrink = {};
  Given<KernelSpeed(const Plan&, const CudaTarget&)> speed = {};
  Given<std::string(const Plan&, const CudaTarget&)> prepack_key = {};
  Given<int64_t(const Plan&, const CudaTarget&)> prepacked_bytes = {};
  Given<void(const Plan&, const CudaTarget&, const Tensor&, int, std::byte*)> prepack = {};
  using PlanType = Plan;
  using ArgsType = Args;
  using DeviceType = CudaDevice;
  using ToldType = CudaTarget;
};

template <const auto& Class>
int cuda_threads(const KernelPlan& plan, const CudaTarget& target) {
  using Plan = typename std::remove_cvref_t<decltype(Class)>::PlanType;
  if constexpr (Class.threads.is_given) return Class.threads.call(plan.get<Plan>(), target);
  else return kCudaThreads;
}

//   constexpr CudaKernelClass<GemmPlan, GemmArgs> gemm{…};
//   extern constinit const CudaKernelDef gemm_on_cuda_def = cuda_kernel<gemm>();
template <const auto& Class>
constexpr CudaKernelDef cuda_kernel() {
  using Plan = typename std::remove_cvref_t<decltype(Class)>::PlanType;
  static_assert(Class.emit.is_given, "a class has code");
  CudaKernelDef def{LlvmKernel{implementation<Class>()}};
  def.launch = [](const Device& d, const KernelPlan& p, KernelArgs& args) {
    Launch call = implementation<Class>().launch(d, p, args);
    call.threads_per_item = cuda_threads<Class>(p, target_of_cuda(d));
    return call;
  };
  def.emit = [](Emitter& base, const KernelPlan& p, const std::string& symbol, int shrink) {
    const CudaTarget& target = static_cast<CudaEmitter&>(base).target;
    int lanes = 4;
    if constexpr (Class.lanes.is_given) lanes = Class.lanes.call(p.get<Plan>(), target);
    CudaEmitter e(base.module, target, lanes, cuda_threads<Class>(p, target));
    Class.emit.call(e, p.get<Plan>(), symbol, shrink);
  };
  def.can_shrink = [](const Device&, const KernelPlan&, int) { return false; };
  if constexpr (Class.can_shrink.is_given)
    def.can_shrink = [](const Device& d, const KernelPlan& p, int shrink) {
      return Class.can_shrink.call(p.get<Plan>(), target_of_cuda(d), shrink);
    };
  return def;
}

}  // namespace hone
