// Choosing the scale of every group of a tensor (docs/FORMATS.md, section 4).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "formats/element_pass.h"
#include "formats/format.h"

namespace hone {

struct GroupScales {
  std::vector<uint32_t> codes, zero_points;  // one per group; empty when the format stores none
  std::vector<double> scales, zeros;         // what they stand for; 1 and 0 in dirty groups, whose elements encode as 0
  std::vector<uint8_t> dirty;                // 1: holds NaN or infinity, so the whole group is NaN

  std::vector<GroupColumn> columns() const;  // scale, zero point: positions 1 and 2 of element programs
};

GroupScales choose_scales(const Format& format, const Walk& walk, std::span<const float> values);

// The code (u32) of an element, and the f32 that a code stands for, given the scale and zero point of the group.
Expr encoded(const Format& format, Expr x, Expr scale, Expr zero_point);
Expr decoded(const Format& format, Expr code, Expr scale, Expr zero_point);

bool any_nonfinite(std::span<const float> values);

}  // namespace hone
