// How the recurrent weights R [D,gates·H,H] are laid out: direction after direction and phase after phase, panels
// of parts [H][vectors of a part][lanes], of which a panel has [gates][vectors of units], zero behind the last unit
// (shape.h).
#pragma once

#include <string>

#include "device/x86/target.h"
#include "kernels/recurrent/plan.h"

namespace hone {

std::string prepack_key(const RecurrentPlan& plan, const X86Target& target);
int64_t prepacked_bytes(const RecurrentPlan& plan, const X86Target& target);
void prepack(const RecurrentPlan& plan, const X86Target& target, const Tensor& weights, int threads, std::byte* out);

}  // namespace hone
