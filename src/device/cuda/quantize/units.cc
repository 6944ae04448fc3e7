#include "device/cuda/quantize/units.h"

#include <algorithm>
#include <bit>

#include "base/multiples.h"
#include "device/cuda/emitter.h"
#include "formats/packed.h"
#include "formats/scale.h"

namespace hone {
namespace {

using Task = QuantizePlan::Task;
using Combine = QuantizePrograms::Combine;

// Codes of a vector end on a byte, and where they can the elements are 16 bytes.
int lanes_of(const QuantizePlan& plan, const Format& format) {
  int64_t widest = size_bytes(plan.x);
  if (plan.task == Task::round) widest = std::max<int64_t>(widest, size_bytes(plan.result));
  const int lanes = static_cast<int>(std::min<int64_t>(8, 16 / widest));
  const int planes = is_residual(format) ? scales_per_group(format) : 1;
  return plan.task == Task::pack && lanes * (format.element.bits / planes) % 8 != 0 ? 8 : lanes;
}

}  // namespace

QuantizeUnits::QuantizeUnits(const QuantizePlan& plan, int threads)
    : format(parse_format(plan.format)),
      programs(quantize_programs(format)),
      spans(quantize_spans(format)),
      group(spans == QuantizeSpans::groups ? format.geometry.columns : 0),
      lanes{lanes_of(plan, format)},
      team(kWarp) {
  for (const QuantizePrograms::Reduction& r : programs.reductions) adds |= r.combine == Combine::sum;
  adds |= programs.scales.size() > 1;  // candidates are compared by sums of squares
  if (adds && (spans != QuantizeSpans::whole || plan.task == Task::reduce)) team = 1;
  else if (spans == QuantizeSpans::groups)
    team = static_cast<int>(std::min<uint64_t>(kWarp, std::bit_ceil(static_cast<uint64_t>(ceil_div(group, lanes)))));
  teams = threads / team;
}

int64_t QuantizeUnits::segment(const QuantizePlan& plan, int64_t length) const {
  if (plan.task != Task::reduce) return kSegment;
  return adds ? kSummed : kSegment * std::max<int64_t>(1, ceil_div(length, kSegment * kMostParts));
}

int64_t QuantizeUnits::count(const QuantizePlan& plan, const QuantizeArgs& args) const {
  switch (spans) {
    case QuantizeSpans::whole:
      return ceil_div(args.length, segment(plan, args.length));
    case QuantizeSpans::lines:
      return args.lines;
    case QuantizeSpans::groups:
      return args.lines * args.groups_per_line;
  }
  CHECK(false);
}

int64_t QuantizeUnits::blocks(const QuantizePlan& plan, const QuantizeArgs& args) const {
  const int64_t all = ceil_div(count(plan, args), int64_t{teams});
  return plan.task == Task::reduce && spans != QuantizeSpans::whole ? std::min(all, kMostParts) : all;
}

int64_t QuantizeUnits::parts(const QuantizePlan& plan, const QuantizeArgs& args) const {
  return spans == QuantizeSpans::whole ? count(plan, args) : blocks(plan, args);
}

}  // namespace hone
