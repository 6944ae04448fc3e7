// What x86 says of a kernel class: one X86KernelDef a class, in the file or folder of device/x86 that has its name.
#pragma once

#include <string>

#include "device/implementation_of.h"
#include "device/llvm/llvm_kernel.h"
#include "device/x86/device.h"
#include "kernels/kernel.h"

namespace hone {

class X86Emitter;

// The emitter of a module that is emitted for an x86 CPU.
X86Emitter& x86_emitter(Emitter& e);

using KernelFn = void (*)(const KernelArgs* args, int64_t begin, int64_t end, std::byte* scratch);

// Its code is a KernelFn.
struct X86KernelDef : LlvmKernel {};

// An X86KernelDef as its class states it, of plans and arguments of its own types; arguments that differ by the plan
// are KernelArgs.
template <class Plan, class Args>
struct X86KernelClass {
  Given<Support(const X86Device&, const Lowering&, Prepared&)> adapt = {};
  Given<Support(const Plan&, const X86Target&)> supports;
  Given<Launch(const Plan&, const X86Target&, Args&)> launch;
  Given<std::string(const Plan&, const X86Target&)> describe;
  Given<void(X86Emitter&, const Plan&, const std::string&, int)> emit;
  Given<bool(const Plan&, const X86Target&, int)> can_shrink = {};
  Given<KernelSpeed(const Plan&, const X86Target&)> speed = {};
  Given<std::string(const Plan&, const X86Target&)> prepack_key = {};
  Given<int64_t(const Plan&, const X86Target&)> prepacked_bytes = {};
  Given<void(const Plan&, const X86Target&, const Tensor&, int, std::byte*)> prepack = {};
  using PlanType = Plan;
  using ArgsType = Args;
  using DeviceType = X86Device;
  using ToldType = X86Target;
};
template <>
inline const X86Target& told_of<X86Target>(const Device& device) {
  return target_of(device);
}

//   constexpr X86KernelClass<X86GemmPlan, X86GemmArgs> gemm{…};  extern constinit const X86KernelDef gemm_on_x86_def =
//   x86_kernel<gemm>();
template <const auto& Class>
constexpr X86KernelDef x86_kernel() {
  using Plan = typename std::remove_cvref_t<decltype(Class)>::PlanType;
  static_assert(Class.emit.is_given, "a class has code");
  X86KernelDef def{LlvmKernel{implementation<Class>()}};
  def.emit = [](Emitter& e, const KernelPlan& p, const std::string& symbol, int shrink) {
    Class.emit.call(x86_emitter(e), p.get<Plan>(), symbol, shrink);
  };
  def.can_shrink = [](const Device&, const KernelPlan&, int) { return false; };
  if constexpr (Class.can_shrink.is_given)
    def.can_shrink = [](const Device& d, const KernelPlan& p, int shrink) {
      return Class.can_shrink.call(p.get<Plan>(), target_of(d), shrink);
    };
  return def;
}

// The same as of a device with this target.
inline Support supports(const KernelPlan& plan, const X86Target& target) { return supports(X86Device(target), plan); }
inline Launch launch(const KernelPlan& plan, const X86Target& target, KernelArgs& args) {
  return launch(X86Device(target), plan, args);
}
inline std::string describe(const KernelPlan& plan, const X86Target& target) {
  return describe(X86Device(target), plan);
}
inline Buffer lay_out(const KernelPlan& plan, const X86Target& target, const Tensor& weights, int threads) {
  return lay_out(X86Device(target), plan, weights, threads);
}
inline Buffer lay_out(const KernelPlan& plan, const X86Target& target, const Tensor& weights, int threads,
                      const PanelMemory& memory) {
  return lay_out(X86Device(target), plan, weights, threads, memory);
}

}  // namespace hone
