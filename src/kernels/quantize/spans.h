// How a tensor falls into the work of quantizing kernels (QuantizePlan).
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/packed.h"
#include "kernels/quantize/plan.h"

namespace hone {

// What shares a scale: all elements (or nothing), a line, or groups along lines.
enum class QuantizeSpans : uint8_t { whole, lines, groups };
QuantizeSpans quantize_spans(const Format& format);
Support quantize_support(const Format& format);  // whatever the shape

// Codes of 8 bits in groups that share a power of two (mxint8), for which arithmetic in f32 gives the bits that the
// rules give in f64 (docs/FORMATS.md, section 4.2): the largest magnitude's exponent field is the scale's code, where
// the largest code lies in [1, 2), as that of every integer of W - 2 fraction bits does; 0 stands for subnormal ones,
// too, and 255 for NaN. Elements are multiplied by 2^(fraction bits - S) as two factors, of which none overflows; a
// product that is rounded is below 2^-126, and becomes 0.
bool packs_in_f32(const Format& format);

// The kernels with task `reduce` that run before those that round or pack.
struct QuantizeStages {
  int count = 0;
  int64_t part_bytes = 0;  // of each part that they leave
};
QuantizeStages quantize_stages(const Format& format);

// How kernels that round find their way through row-major elements: the sizes of `args`. Refused where elements that
// share a scale don't lie one after the other in long enough stretches.
Support quantize_args(const Format& format, std::span<const int64_t> shape, QuantizeArgs& args);

// The same for kernels that pack and unpack, which see lines one after the other: groups along the last axis, channels
// along the first.
Support pack_support(const Format& format, std::span<const int64_t> shape);
std::string name_of_lines(Format format);  // of a plan
QuantizeArgs pack_args(const Format& format, const PackedLayout& layout);

}  // namespace hone
