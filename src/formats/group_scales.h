// Choosing the scale of every group of a tensor (docs/FORMATS.md, section 4).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "formats/element_pass.h"
#include "formats/format.h"
#include "formats/scale.h"

namespace hone {

// One entry per group, or empty where the format has no such thing. Dirty groups (NaN or infinity in them) have the NaN
// code; what their elements are encoded with is scale 1 and 0 for the rest, which makes every code 0.
struct GroupScales {
  std::vector<uint32_t> codes;              // scales_per_group of each
  std::vector<std::vector<double>> scales;  // one list per level
  std::vector<uint32_t> zero_points;
  std::vector<double> zeros;
  std::vector<std::vector<double>> results;  // of the reductions, then the global value
  std::vector<uint8_t> nonfinite;
  float global = 0;
  std::vector<uint32_t> outer_codes;  // as outer_codes_of() gives them; their values are the last results

  std::vector<GroupColumn> columns(const Program& program) const;  // those that an element program reads
};

GroupScales choose_scales(const Format& format, const BlockTraversal& blocks, std::span<const float> values);

// Sets codes, scales and zero points to what follows from results and global value; `index` of ScaleKind::candidates.
void set_candidate(const Format& format, int index, size_t groups, GroupScales& scales);

// The group columns of element programs, in this order: scales, zero point, results.
GroupValues group_args(const Format& format);

// The code (u32) of an element, the f32 that a code stands for, and the f32 that quantization makes of an element.
Expr encoded(const Format& format, Expr x, const GroupValues& group);
Expr decoded(const Format& format, Expr code, const GroupValues& group);
Expr fake(const Format& format, Expr x, const GroupValues& group);

// pack() (formats/packed.h) with these scales.
Planes pack(const Format& format, const BlockTraversal& blocks, std::span<const float> values, GroupScales scales);

// Two conditions (boolean) on the normalised element t and its code. Saturated: finite and half a step or more beyond
// the largest or smallest code, so that the next code, if there were one, would be at least as near.
struct Losses {
  Expr saturated, flushed_to_zero;
};
Losses losses(const Format& format, Expr t, Expr code);

bool any_nonfinite(std::span<const float> values);

}  // namespace hone
