// A target whose products of bf16 go through tiles in software: what a CPU with AMX runs, on any.
#pragma once

#include "device/x86/device.h"
#include "device/x86/target.h"

namespace hone {

inline X86Target with_emulated_tiles(const X86Target& target) {
  return X86Target(target.features().with(Feature::amx_emulated), target.rates(), {.l2_bytes = target.l2_bytes()});
}

}  // namespace hone
