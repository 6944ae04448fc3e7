// How quantizing kernels fall into blocks: a unit (a group, a line, or a segment of a tensor that is one group) belongs
// to a team, so many neighbouring threads of a warp, each of which takes a vector of elements at a time. A team holds a
// group's elements in registers where they are one vector a thread.
//
// Sums are added in the order of elements, as the reference does it: a team of formats that add up is one thread.
#pragma once

#include "device/cuda/target.h"
#include "formats/format.h"
#include "kernels/quantize/plan.h"
#include "kernels/quantize/programs.h"
#include "kernels/quantize/spans.h"

namespace hone {

struct QuantizeUnits {
  QuantizeUnits(const QuantizePlan& plan, int threads);

  Format format;
  QuantizePrograms programs;
  QuantizeSpans spans;
  int64_t group = 0;  // elements, where lines have several
  bool adds = false;  // up, over the elements of a unit
  int lanes = 1;      // of a vector
  int team = 1;       // threads
  int teams = 1;      // of a block
  bool one_vector() const { return spans == QuantizeSpans::groups && group <= int64_t{team} * lanes; }

  // Of a whole tensor of `length` elements, for the plan's task.
  int64_t segment(const QuantizePlan& plan, int64_t length) const;
  int64_t count(const QuantizePlan& plan, const QuantizeArgs& args) const;
  int64_t blocks(const QuantizePlan& plan, const QuantizeArgs& args) const;
  // What a kernel with task `reduce` leaves: a part of each segment, or of each block.
  int64_t parts(const QuantizePlan& plan, const QuantizeArgs& args) const;
};

// What parts of a tensor are read by every unit, so there are not many.
inline constexpr int64_t kMostParts = 1024;
inline constexpr int64_t kSegment = 4096;    // elements, or a multiple
inline constexpr int64_t kSummed = 1 << 16;  // elements whose sum is a part (formats/walk.cc)

}  // namespace hone
