// Choosing the scale of every group of a tensor (docs/FORMATS.md, section 4).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "formats/element_pass.h"
#include "formats/format.h"
#include "formats/scale.h"

namespace hone {

// One entry per group; all empty when the format has no scale. Dirty groups (NaN or infinity in them) have the NaN
// code; what their elements are encoded with is scale 1 and 0 for the rest, which makes every code 0.
struct GroupScales {
  std::vector<uint32_t> codes, zero_points;  // zero_points: empty when the format stores none
  std::vector<double> scales, zeros;
  std::vector<std::vector<double>> results;  // of the reductions
  std::vector<uint8_t> dirty;

  std::vector<GroupColumn> columns(const Program& program) const;  // those that an element program reads
};

GroupScales choose_scales(const Format& format, const Walk& walk, std::span<const float> values);

// The group columns of element programs: position 1 is the scale, 2 the zero point, then the results of the reductions.
GroupValues group_args(const Format& format);

// The code (u32) of an element, and the f32 that a code stands for.
Expr encoded(const Format& format, Expr x, const GroupValues& group);
Expr decoded(const Format& format, Expr code, const GroupValues& group);

bool any_nonfinite(std::span<const float> values);

}  // namespace hone
