// To a number format, to its codes, and back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace hone {

// Elements rounded to a number format, turned into its codes, or made from them. Where all elements share a scale, or a
// format has a value of the whole tensor, kernels with task `reduce` (one per stage) run first and leave parts for the
// others (spans.h): one, unless a device makes more.
//   pointers  [0] x (unpack: codes), [1] results (pack: codes), [2] scale codes of scale_bytes each (unpack: scales as
//             f32, NaN as 0x7fc00000), [3] zero points of zero_point_bytes, [4] parts, f64,
//             [5] counts (i64) of NaN, infinity, saturated and flushed elements, added to
//   dims      [0] lines, [1] elements of a stretch, [2] from line to line and [6] from stretch to stretch in elements,
//             [3] groups of a line, [4] bytes of a line of codes, [5] stretches of a line, [7] bytes of a plane of
//             codes, [8] parts
//   items     segments where all elements are one span; lines; or lines * blocks of groups, as the format has it
struct QuantizePlan {
  enum class Task : uint8_t { round, reduce, pack, unpack } task = Task::round;
  int stage = 0;       // reduce
  std::string format;  // canonical
  DType x = DType::f32, result = DType::f32;
  bool counts = false;                        // pack: of what could not be represented
  int scale_bytes = 4, zero_point_bytes = 4;  // of the numbers stored by pack
  static constexpr auto fields() {
    return std::tuple(field("task", &QuantizePlan::task), field("stage", &QuantizePlan::stage),
                      field("format", &QuantizePlan::format), field("x", &QuantizePlan::x),
                      field("result", &QuantizePlan::result), field("counts", &QuantizePlan::counts),
                      field("scale_bytes", &QuantizePlan::scale_bytes),
                      field("zero_point_bytes", &QuantizePlan::zero_point_bytes));
  }
  static const KernelDef& kernel();
};

Support lower_quantize(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
