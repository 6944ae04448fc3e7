// How LLVM IR is made from the plans of a kernel class: one EmitterDef a class, in the file or folder of device/x86
// that has its name.
#pragma once

#include <string>

#include "kernels/kernel.h"

namespace hone {

class Emitter;

struct EmitterDef {
  const KernelDef& (*kernel)();
  // Adds the external function `symbol` (a KernelFn) and its local ones to the emitter's module. `shrink` counts the
  // attempts before this one whose code spilled registers: with each, a class that has tiles chooses a smaller one
  // (KernelDef::can_shrink).
  void (*emit)(Emitter& e, const KernelPlan& plan, const std::string& symbol, int shrink);
};

// extern constinit const EmitterDef gemm_emitter_def = emitter_def<GemmPlan, emit>();      emit takes a GemmPlan
template <class Plan, auto Emit>
constexpr EmitterDef emitter_def() {
  return {.kernel = &Plan::kernel,
          .emit = [](Emitter& e, const KernelPlan& plan, const std::string& symbol, int shrink) {
            Emit(e, plan.get<Plan>(), symbol, shrink);
          }};
}

}  // namespace hone
