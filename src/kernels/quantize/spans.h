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
