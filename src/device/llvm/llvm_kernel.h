// What a device whose code LLVM generates says of a kernel class.
#pragma once

#include <string>

#include "device/implementation.h"

namespace hone {

class Emitter;

struct LlvmKernel : KernelImplementation {
  // Adds the external function `symbol` and its local ones to the emitter's module. `shrink` counts the attempts before
  // this one whose code spilled registers: with each, a class that has tiles chooses a smaller one.
  void (*emit)(Emitter& e, const KernelPlan& plan, const std::string& symbol, int shrink) = nullptr;
  // Whether attempt `shrink` differs from the one before it. Packed data keeps its layout.
  bool (*can_shrink)(const Device& device, const KernelPlan& plan, int shrink) = nullptr;
};

}  // namespace hone
