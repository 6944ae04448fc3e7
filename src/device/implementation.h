// What a device says of one kernel class: all that follows from its registers, units and caches. What follows from the
// graph is the class's (kernels/kernel.h). A device has one implementation of a class, or none.
#pragma once

#include <string>

#include "base/peaks.h"
#include "device/launch.h"
#include "device/panel_memory.h"
#include "device/plan.h"
#include "ir/op_def.h"
#include "ir/tensor.h"

namespace hone {

class Device;
struct Lowering;
struct Prepared;

// How constants are laid out for the kernels of a class, on the host; the runtime copies them where the device has
// memory of its own.
struct Prepacking {
  // What the layout depends on, as text: plans that differ in nothing else share one copy.
  std::string (*key)(const Device& device, const KernelPlan& plan) = nullptr;
  int64_t (*bytes)(const Device& device, const KernelPlan& plan) = nullptr;
  // On up to `threads` threads, at 2 GB/s or better; pages of a mapped source are dropped behind the reader. `out` are
  // so many bytes of panel_memory(): zeros, or what was laid out there before for an equal key.
  void (*lay_out)(const Device& device, const KernelPlan& plan, const Tensor& weights, int threads,
                  std::byte* out) = nullptr;
};

// Shares of the peak of its unit that kernels of a class reach: the best and worst seen over the models of
// bench/predicted_speed.py. Winograd's algorithm exceeds the peak in terms of the products it saves.
struct KernelSpeed {
  double best = 0.9, worst = 0.05;
  ProductUnit unit = ProductUnit::f32;
};

struct KernelImplementation {
  const KernelDef& (*kernel)() = nullptr;
  // Makes the class's plans the device's, behind KernelDef::lower: may change the plans that it prepared, wrap its
  // `place` to choose by the sizes of a run, bind memory that steps share, and append steps. Null: plans stay.
  Support (*adapt)(const Device& device, const Lowering& lowering, Prepared& prepared) = nullptr;
  // Whether there is code for the plan, and why not.
  Support (*supports)(const Device& device, const KernelPlan& plan) = nullptr;
  // With the extents that args have, and writes into args.dims what follows from them (how work falls into items): code
  // for any extents and code for these ones do the same.
  Launch (*launch)(const Device& device, const KernelPlan& plan, KernelArgs& args) = nullptr;
  std::string (*describe)(const Device& device, const KernelPlan& plan) = nullptr;  // a line for people
  KernelSpeed (*speed)(const Device& device, const KernelPlan& plan) = nullptr;
  Prepacking prepacking = {};  // empty where kernels read constants as they lie
};

// The device's implementation of the plan's class. Bug when it has none.
const KernelImplementation& implementation_of(const Device& device, const KernelPlan& plan);
inline Support supports(const Device& device, const KernelPlan& plan) {
  return implementation_of(device, plan).supports(device, plan);
}
inline Launch launch(const Device& device, const KernelPlan& plan, KernelArgs& args) {
  return implementation_of(device, plan).launch(device, plan, args);
}
inline std::string describe(const Device& device, const KernelPlan& plan) {
  return implementation_of(device, plan).describe(device, plan);
}
inline KernelSpeed speed(const Device& device, const KernelPlan& plan) {
  return implementation_of(device, plan).speed(device, plan);
}
inline const Prepacking& prepacking(const Device& device, const KernelPlan& plan) {
  return implementation_of(device, plan).prepacking;
}
Buffer lay_out(const Device& device, const KernelPlan& plan, const Tensor& weights, int threads,
               const PanelMemory& memory);  // of as many bytes
// In memory of its own, which goes with it: weights that lie in one stretch of a pool keep it for each other.
Buffer lay_out(const Device& device, const KernelPlan& plan, const Tensor& weights, int threads);

}  // namespace hone
