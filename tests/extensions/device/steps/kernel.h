// What the device says of a kernel class, with the code that interprets the class's plans.
#pragma once

#include <array>

#include "device/foreign_memory.h"
#include "device/implementation_of.h"
#include "device/steps/tally.h"
#include "kernels/kernel.h"

namespace hone {

class StepsDevice;

struct StepsKernel : KernelImplementation {
  // All items of a call, whose arguments have addresses of the memory.
  void (*run)(const KernelPlan& plan, const KernelArgs& args, const ForeignMemory& memory) = nullptr;
};

extern const StepsKernel kStepsGather, kStepsPointwise;
inline constexpr std::array<const StepsKernel*, 2> kStepsKernels{&kStepsGather, &kStepsPointwise};

// Why plans are refused, as people read it.
inline constexpr const char* kPackedTables = "packed tables";
inline constexpr const char* kStrings = "strings";
inline constexpr const char* kOtherElements = "elements that change their type";
inline constexpr const char* kDoubles = "64-bit floats";

}  // namespace hone
