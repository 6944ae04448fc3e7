// What x86 says of a kernel class: one X86KernelDef a class, in the file or folder of device/x86 that has its name.
#pragma once

#include <string>

#include "device/args.h"
#include "device/llvm/llvm_kernel.h"
#include "device/x86/device.h"
#include "kernels/kernel.h"

namespace hone {

class X86Emitter;
using Emitter = X86Emitter;

// The emitter of a module that is emitted for an x86 CPU.
X86Emitter& x86_emitter(LlvmEmitter& e);

using KernelFn = void (*)(const KernelArgs* args, int64_t begin, int64_t end, std::byte* scratch);

// Its code is a KernelFn.
struct X86KernelDef : LlvmKernel {};

// An X86KernelDef as its class states it, of plans and arguments of its own types; arguments that differ by the plan
// are KernelArgs.
template <class Plan, class Args>
struct X86KernelClass {
  Given<Support(const X86Device&, const Lowering&, Prepared&)> adapt = {};
  Given<Support(const Plan&, const Target&)> supports;
  Given<Launch(const Plan&, const Target&, Args&)> launch;
  Given<std::string(const Plan&, const Target&)> describe;
  Given<void(Emitter&, const Plan&, const std::string&, int)> emit;
  Given<bool(const Plan&, const Target&, int)> can_shrink = {};
  Given<KernelSpeed(const Plan&, const Target&)> speed = {};
  Given<std::string(const Plan&, const Target&)> prepack_key = {};
  Given<int64_t(const Plan&, const Target&)> prepacked_bytes = {};
  Given<void(const Plan&, const Target&, const Tensor&, int, std::byte*)> prepack = {};
  using PlanType = Plan;
  using ArgsType = Args;
};

//   constexpr X86KernelClass<GemmPlan, GemmArgs> gemm{…};  extern constinit const X86KernelDef gemm_on_x86_def =
//   x86_kernel<gemm>();
template <const auto& Class>
constexpr X86KernelDef x86_kernel() {
  using Plan = typename std::remove_cvref_t<decltype(Class)>::PlanType;
  using Args = typename std::remove_cvref_t<decltype(Class)>::ArgsType;
  static_assert(Class.supports.is_given && Class.launch.is_given && Class.describe.is_given && Class.emit.is_given,
                "a class says all four of its plans");
  static_assert(
      Class.prepack.is_given == Class.prepack_key.is_given && Class.prepack.is_given == Class.prepacked_bytes.is_given,
      "constants are laid out with all three of key, bytes and prepack, or not at all");
  X86KernelDef def;
  def.kernel = &Plan::kernel;
  def.supports = [](const Device& d, const KernelPlan& p) { return Class.supports.call(p.get<Plan>(), target_of(d)); };
  def.launch = [](const Device& d, const KernelPlan& p, KernelArgs& a) {
    if constexpr (HasPlaces<Args>) {
      Args args = from_args<Args>(a);
      const Launch call = Class.launch.call(p.get<Plan>(), target_of(d), args);
      write_args(args, a);
      return call;
    } else return Class.launch.call(p.get<Plan>(), target_of(d), a);
  };
  def.describe = [](const Device& d, const KernelPlan& p) { return Class.describe.call(p.get<Plan>(), target_of(d)); };
  def.speed = [](const Device&, const KernelPlan&) { return KernelSpeed(); };
  def.emit = [](LlvmEmitter& e, const KernelPlan& p, const std::string& symbol, int shrink) {
    Class.emit.call(x86_emitter(e), p.get<Plan>(), symbol, shrink);
  };
  def.can_shrink = [](const Device&, const KernelPlan&, int) { return false; };
  if constexpr (Class.adapt.is_given)
    def.adapt = [](const Device& d, const Lowering& lowering, Prepared& prepared) {
      return Class.adapt.call(static_cast<const X86Device&>(d), lowering, prepared);
    };
  if constexpr (Class.speed.is_given)
    def.speed = [](const Device& d, const KernelPlan& p) { return Class.speed.call(p.get<Plan>(), target_of(d)); };
  if constexpr (Class.can_shrink.is_given)
    def.can_shrink = [](const Device& d, const KernelPlan& p, int shrink) {
      return Class.can_shrink.call(p.get<Plan>(), target_of(d), shrink);
    };
  if constexpr (Class.prepack.is_given)
    def.prepacking = {
        .key = [](const Device& d, const KernelPlan& p) { return Class.prepack_key.call(p.get<Plan>(), target_of(d)); },
        .bytes = [](const Device& d,
                    const KernelPlan& p) { return Class.prepacked_bytes.call(p.get<Plan>(), target_of(d)); },
        .lay_out = [](const Device& d, const KernelPlan& p, const Tensor& weights, int threads,
                      std::byte* out) { Class.prepack.call(p.get<Plan>(), target_of(d), weights, threads, out); }};
  return def;
}

// The same as of a device with this target.
inline Support supports(const KernelPlan& plan, const Target& target) { return supports(X86Device(target), plan); }
inline Launch launch(const KernelPlan& plan, const Target& target, KernelArgs& args) {
  return launch(X86Device(target), plan, args);
}
inline std::string describe(const KernelPlan& plan, const Target& target) { return describe(X86Device(target), plan); }
inline Buffer lay_out(const KernelPlan& plan, const Target& target, const Tensor& weights, int threads) {
  return lay_out(X86Device(target), plan, weights, threads);
}
inline Buffer lay_out(const KernelPlan& plan, const Target& target, const Tensor& weights, int threads,
                      const PanelMemory& memory) {
  return lay_out(X86Device(target), plan, weights, threads, memory);
}

}  // namespace hone
