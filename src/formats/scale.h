// Scale kinds: how a group of elements gets its scale (docs/FORMATS.md, section 4).
//
// Encoding a group runs in this order: the reductions over its elements, the tensor's global value from the groups'
// results, the scale's codes from both, the zero point, then each element's normalisation and the element codec. All
// are expressions, so a reader that can run them can quantize. A group with NaN or infinity is not asked: it gets
// nan_code, zero point 0 and codes 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "formats/format.h"

namespace hone {

using Exprs = std::span<const Expr>;

// Over the elements of a group. Without groups (geometry none) all elements are one group.
struct GroupReduction {
  enum class Kind : uint8_t { max, min, sum } kind;
  // f64 term of an element (x: f32); `earlier` are the f64 results of the reductions listed before, for the same group.
  Expr (*term)(const Format&, Expr x, Exprs earlier);
};

// One number of the whole tensor, from the results of all groups without NaN and infinity.
struct GlobalValue {
  GroupReduction::Kind kind;
  Expr (*term)(const Format&, Exprs results);  // f64
  Expr (*value)(const Format&, Expr reduced);  // f64 that is an f32 number
  bool is_scale;  // stored as an f32, and every scale of a group is multiplied by it: fl32(value(code) * global)
};

// What the expressions of an element may read of its group, all f64. When decoding there are no results.
struct GroupValues {
  std::vector<Expr> scales;  // one per level, the global scale multiplied in
  Expr zero_point;
  std::vector<Expr> results;  // of the reductions, then the global value where the kind has one
  Expr scale() const { return scales.front(); }
};

struct ScaleKind {
  const char* name;
  std::span<const GroupReduction> reductions;
  const GlobalValue* global = nullptr;
  int levels = 1;  // scale codes per group: rsign<R> has R, formats with a minimum 2
  // The last level is the minimum of the group: a value is value * scale + minimum (1) or - minimum (-1). 0: none.
  int minimum_sign = 0;
  // Two-level scales: how large a scale of `level` should be, f64; `results` are those of the reductions. The largest
  // of a super-block over the largest integer is its outer scale, of which the stored integers are multiples.
  Expr (*outer_term)(const Format&, Exprs results, int level) = nullptr;
  // How many scale codes are tried; the one with the smallest sum of squared errors is kept, the first at a tie.
  int (*candidates)(const Format&) = nullptr;  // null: one
  // u32; null: no scale is stored. `results` as in GroupValues; two-level kinds see the outer scales behind them.
  Expr (*code)(const Format&, Exprs results, int candidate, int level) = nullptr;
  // u32 code → f64 that is an f32 number, or NaN; of two-level kinds the integer.
  Expr (*value)(const Format&, Expr code) = nullptr;
  Expr (*zero_point)(const Format&, Exprs results, Expr scale) = nullptr;  // u32; null: none is stored
  // f32 x → f64 for the codec, and back from the codec's f64.
  Expr (*normalise)(const Format&, Expr x, const GroupValues& group) = nullptr;
  Expr (*restore)(const Format&, Expr value, const GroupValues& group) = nullptr;  // null: value * scale
  uint32_t (*nan_code)(const Format&) = nullptr;
  // Fake-only formats: f32 x → the f32 that quantization leaves, in place of codec, normalise and restore.
  Expr (*fake)(const Format&, Expr x, const GroupValues& group) = nullptr;
};

extern constinit const ScaleKind no_scale;           // the codec sees x itself
extern constinit const ScaleKind f32_max_scale;      // f32, max|x| / largest code (4.1)
extern constinit const ScaleKind f32_range_scale;    // f32 and a zero point, from min and max (4.1)
extern constinit const ScaleKind f32_mean_scale;     // f32, mean |x| (4.1)
extern constinit const ScaleKind pow2_scale;         // 2^S in ScaleParams::bits bits, by ScaleParams::rule (4.2)
extern constinit const ScaleKind f32_signed_scale;   // f32 of either sign, for elements that reach further on one side
extern constinit const ScaleKind f32_minimum_scale;  // f32 and a minimum (4.4)
extern constinit const ScaleKind two_level_scale;    // an integer times the outer scale (4.4)
extern constinit const ScaleKind two_level_minimum_scale;  // two of them: a scale and a minimum that is subtracted

ScaleParams f32_scale_params(ScaleType type = ScaleType::f32);
ScaleParams pow2_scale_params(int bits = 8, ScaleRule rule = ScaleRule::floor);

// Scales that are computed in f32 and stored as ScaleParams::type: the code of an f32 expression, rounded to that type
// and at most its largest number; the value of a code; and the code of NaN.
Expr f32_scale_code(const Format& format, Expr scale);
Expr f32_scale_value(const Format& format, Expr code);
uint32_t f32_scale_nan(const Format& format);
double smallest_normal_scale(const Format& format);

// The scales of a group as its elements read them, from a code's value: the global scale multiplied in.
Expr effective_scale(const Format& format, Expr value, Expr global);

int zero_point_bytes(const Format& format);  // of one zero point; 0 when the format has none

// Formats in which what code 0 stands for need not be 0: padding and groups with NaN have the code all the same.
bool zero_needs_another_code(const Format& format);

// Two-level scales: the integers that are stored run from lowest to highest; an outer scale is an fp16.
int lowest_integer(ScaleType type);
int highest_integer(ScaleType type);
Expr outer_scale_code(Expr scale);  // f64 to u32
Expr outer_scale_value(Expr code);  // u32 to f64
inline constexpr uint32_t kNanOuterScale = 0x7e00;

// The smaller of the scales of either sign with which no element of [lowest, highest] saturates; f64, 0 of zeros alone.
Expr signed_scale(const Format& format, Expr lowest, Expr highest);

}  // namespace hone
