// A number format's rules (formats/scale.h, formats/format.h) as programs, in the order in which a kernel runs them
// over the elements of a group. Nothing here names a format: what is known about scales is found out by running their
// rules.
#pragma once

#include <cstdint>
#include <vector>

#include "expr/program.h"
#include "formats/format.h"

namespace hone {

struct QuantizePrograms {
  enum class Combine : uint8_t { max, min, sum };
  struct Reduction {
    Combine combine;
    Program term;            // arg 0: x (f32), then the results before it (f64); f32 where widening it may come after
    bool magnitude = false;  // the term is |x|: bit patterns order like it
  };
  // What all elements of a group read, as f64 arguments 1, 2, ... of the programs of elements: scales, the zero point,
  // results and the global value as formats/group_scales.h orders them; then 1 / scale of each level where that is
  // exact.
  int values() const { return levels + has_zero_point + results() + reciprocals; }
  int results() const { return static_cast<int>(reductions.size()) + has_global; }

  // Reductions [first, end_of_stage(first)) read no result of each other.
  size_t end_of_stage(size_t first) const;

  std::vector<Reduction> reductions;
  bool has_global = false, global_is_scale = false;
  Combine global_combine = Combine::max;
  Program global_term;   // args: results of a group
  Program global_value;  // arg 0: all terms combined
  int levels = 0;        // scale codes per group; 0: no scale
  bool has_zero_point = false;
  int reciprocals = 0;  // levels, or 0
  // One per candidate. Args: the results. Results: scale codes (u32), scales (f64), the zero point (u32) and its value
  // (f64) where there is one, reciprocals (f64).
  std::vector<Program> scales;
  uint32_t nan_code = 0;
  Program code, rounded, error;  // arg 0: x (f32). u32; f32; f64, squared
  Program counted;               // as `code`, and whether the element was saturated, or flushed to zero (boolean)
};

QuantizePrograms quantize_programs(const Format& format);

}  // namespace hone
