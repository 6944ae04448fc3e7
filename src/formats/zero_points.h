// The zero points of a packed tensor as numbers.
#pragma once

#include "formats/packed.h"

namespace hone {

// One per group, in the order of the groups; empty where the format has none.
std::vector<uint32_t> zero_points_of(const Format& format, const PlaneView& planes);

}  // namespace hone
