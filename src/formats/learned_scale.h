// Scales that are given, not chosen from the data: what training learns (docs/FORMATS.md, section 3.7). What is learned
// of a group is one f32: the scale itself (f32 kinds), its log2 (power-of-two kinds), or the step of fixed point, whose
// nearest power of two gives the fraction bits.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "formats/packed.h"

namespace hone {

// Why the format's scale can't be learned; empty where it can.
std::string no_learned_scale(const Format& format);

// An element x of a group for which `learned` and `zero_point` are learned, all f32; the latter is read where the
// format has one.
struct LearnedElement {
  Expr x, learned, zero_point;
};
Expr rounded(const Format& format, const LearnedElement& e);  // f32; NaN stays NaN
// The derivatives of that, straight-through. By x: whether it passes (boolean); by the others: f32, 0 where x is not
// finite.
Expr passes_gradient(const Format& format, const LearnedElement& e);
Expr slope_by_scale(const Format& format, const LearnedElement& e);
Expr slope_by_zero_point(const Format& format, const LearnedElement& e);

// What is learned, for each element of a tensor that of its group.
struct LearnedValues {
  std::vector<float> learned, zero_points;  // zero_points: empty where the format has none
};
std::vector<float> rounded(const Format& format, std::span<const float> values, const LearnedValues& given);
// What the rules of the format choose for the values.
LearnedValues chosen_by_format(const Format& format, std::span<const int64_t> shape, std::span<const float> values);

// Of fixed point: the format whose step is the power of two nearest to what is learned.
Format with_step(const Format& format, float learned);

// pack() with what is learned; not of fixed point, which has no scale to store.
Planes pack_learned(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
                    const LearnedValues& given);

}  // namespace hone
