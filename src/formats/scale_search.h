// Group scales that lose less than those which a format's rule gives.
#pragma once

#include <span>

#include "formats/packed.h"

namespace hone {

struct GroupScales;  // formats/group_scales.h
class Walk;

// choose_scales(), then for each group what its rule would have given for smaller or larger elements, where that lowers
// the sum over the group of importance * (x - decoded)^2; never where it does not. A global scale stays.
//   importance  one number per element, row-major, at least 0; empty: all 1
GroupScales search_scales(const Format& format, const Walk& walk, std::span<const float> values,
                          std::span<const float> importance);

// pack() with these scales.
Planes pack_searched(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
                     std::span<const float> importance);

}  // namespace hone
