// To a number format, to its codes, and back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/args.h"
#include "kernels/kernel.h"

namespace hone {

// Elements rounded to a number format, turned into its codes, or made from them. Where all elements share a scale, or a
// format has a value of the whole tensor, kernels with task `reduce` (one per stage) run first and leave parts for the
// others (spans.h): one, unless a device makes more.
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

struct QuantizeArgs {
  void *x = nullptr, *out = nullptr;  // x (unpack: codes); results (pack: codes)
  void* scales = nullptr;             // codes of scale_bytes each (unpack: scales as f32, NaN as 0x7fc00000)
  void* zero_points = nullptr;        // of zero_point_bytes
  void* parts = nullptr;              // f64
  void* counts = nullptr;             // i64, of NaN, infinity, saturated and flushed elements, added to
  int64_t lines = 1, length = 0, line_stride = 0;  // elements of a stretch, and from line to line
  int64_t groups_per_line = 1;
  int64_t line_bytes = 0;                     // of codes
  int64_t stretches = 1, stretch_stride = 0;  // of a line; elements from one to the next
  int64_t plane_bytes = 0;                    // of codes
  int64_t part_count = 0;
  static constexpr auto places() {
    using A = QuantizeArgs;
    return std::tuple(&A::x, &A::out, &A::scales, &A::zero_points, &A::parts, &A::counts, &A::lines, &A::length,
                      &A::line_stride, &A::groups_per_line, &A::line_bytes, &A::stretches, &A::stretch_stride,
                      &A::plane_bytes, &A::part_count);
  }
};

Support lower_quantize(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
