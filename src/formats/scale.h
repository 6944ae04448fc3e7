// Scale kinds: how a group of elements gets its scale (docs/FORMATS.md, section 4).
//
// Encoding a group runs in this order: the reductions over its elements, the scale's code from their results, the zero
// point, then each element's normalisation and the element codec. All are expressions, so a reader that can run them
// can quantise. A group with NaN or infinity is not asked: it gets nan_code, zero point 0 and codes 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "formats/format.h"

namespace hone {

using Exprs = std::span<const Expr>;

struct Reduction {
  enum class Kind : uint8_t { max, min, sum } kind;
  // f64 term of an element (x: f32); `earlier` are the f64 results of the reductions listed before, for the same group.
  Expr (*term)(const Format&, Expr x, Exprs earlier);
};

// What the expressions of an element may read of its group, all f64. When decoding there are no results.
struct GroupValues {
  Expr scale, zero_point;
  std::vector<Expr> results;  // of the reductions
};

struct ScaleKind {
  const char* name;
  std::span<const Reduction> reductions;
  // How many scale codes are tried; the one with the smallest sum of squared errors is kept, the first at a tie.
  int (*candidates)(const Format&) = nullptr;                           // null: one
  Expr (*code)(const Format&, Exprs results, int candidate) = nullptr;  // u32; null: no scale is stored
  Expr (*value)(const Format&, Expr code) = nullptr;  // u32 code → f64 that is an f32 number, or NaN
  Expr (*zero_point)(const Format&, Exprs results, Expr scale) = nullptr;  // u32; null: none is stored
  // f32 x → f64 for the codec, and back from the codec's f64.
  Expr (*normalise)(const Format&, Expr x, const GroupValues& group);
  Expr (*restore)(const Format&, Expr value, const GroupValues& group) = nullptr;  // null: value * scale
  uint32_t (*nan_code)(const Format&) = nullptr;
};

extern constinit const ScaleKind no_scale;         // the codec sees x itself
extern constinit const ScaleKind f32_max_scale;    // f32, max|x| / largest code (4.1)
extern constinit const ScaleKind f32_range_scale;  // f32 and a zero point, from min and max (4.1)
extern constinit const ScaleKind pow2_scale;       // 2^S in ScaleParams::bits bits, by ScaleParams::rule (4.2)

ScaleParams f32_scale_params();
ScaleParams pow2_scale_params(int bits = 8, ScaleRule rule = ScaleRule::floor);

int zero_point_bytes(const Format& format);  // of one zero point; 0 when the format has none

}  // namespace hone
