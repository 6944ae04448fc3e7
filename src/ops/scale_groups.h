// How scales that are operands lie beside what they scale: one number for formats with one scale or none; else a tensor
// of x's rank, along each axis as long as there are groups along it.
#pragma once

#include <span>
#include <vector>

#include "formats/format.h"
#include "ir/dim.h"

namespace hone {

// Elements of a group along each axis of `x`, 0 for all of them; empty where there is one scale. Throws Error for an
// axis that x lacks.
std::vector<int64_t> group_extents(const Format& format, size_t rank);
Shape scale_shape(const Format& format, const Shape& x);

// For each element of x, row-major, the number of its group; and back from elements that are alike in each group.
std::vector<float> spread_over_groups(const Format& format, std::span<const int64_t> x, std::span<const float> groups);
std::vector<float> gathered_to_groups(const Format& format, std::span<const int64_t> x,
                                      std::span<const float> elements);

}  // namespace hone
