#include "device/x86/quantize_parts.h"

#include "base/multiples.h"
#include "kernels/quantize/spans.h"

namespace hone {

// Sums are added as the reference does it: in parts of 2^16 elements (formats/walk.cc). Anything else may be cut finer.
int64_t quantize_segment(const QuantizePlan& plan, const QuantizePrograms& programs) {
  bool sums = false;
  for (const QuantizePrograms::Reduction& r : programs.reductions) sums |= r.combine == QuantizePrograms::Combine::sum;
  return plan.task == QuantizePlan::Task::reduce && sums ? 1 << 16 : 1 << 12;
}

int64_t quantize_items(const QuantizePlan& plan, const X86Target& target, const QuantizeArgs& args) {
  const Format format = parse_format(plan.format);
  switch (quantize_spans(format)) {
    case QuantizeSpans::whole:
      return ceil_div(args.length, quantize_segment(plan, quantize_programs(format)));
    case QuantizeSpans::lines:
      return args.lines;
    case QuantizeSpans::groups:
      return args.lines * ceil_div(args.groups_per_line, int64_t{target.lanes()});
  }
  CHECK(false);
}

QuantizeParts quantize_parts(QuantizePlan plan, const X86Target& target, const QuantizeArgs& args) {
  const QuantizeStages stages = quantize_stages(parse_format(plan.format));
  if (stages.count == 0) return {};
  plan.task = QuantizePlan::Task::reduce;
  const int64_t count = quantize_items(plan, target, args);
  return {.stages = stages.count, .count = count, .bytes = count * stages.part_bytes};
}

}  // namespace hone
