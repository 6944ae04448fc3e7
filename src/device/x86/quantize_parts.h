// Into what work items quantizing kernels fall on x86, each of which leaves a part where it reduces.
#pragma once

#include <cstdint>

#include "device/x86/target.h"
#include "kernels/quantize/plan.h"
#include "kernels/quantize/programs.h"

namespace hone {

// Elements of one work item where all elements are one span.
int64_t quantize_segment(const QuantizePlan& plan, const QuantizePrograms& programs);

int64_t quantize_items(const QuantizePlan& plan, const X86Target& target, const QuantizeArgs& args);

// The kernels with task `reduce` that run before `next`, and what they leave for it.
struct QuantizeParts {
  int stages = 0;
  int64_t count = 0;
  int64_t bytes = 0;
};
QuantizeParts quantize_parts(QuantizePlan next, const X86Target& target, const QuantizeArgs& args);

}  // namespace hone
