// Codes of 8 bits in groups that share a power of two (mxint8), in f32: what the general kernel does in f64, in the
// same bits and a fraction of the time.
#pragma once

#include "device/x86/quantize_loops.h"

namespace hone {

bool packs_bytes(const QuantizeLoops& loops);  // whether this is what the plan asks for
void emit_pack_bytes(QuantizeLoops& loops);

}  // namespace hone
