// What follows from the plan of a quantizing kernel.
#include <algorithm>

#include "base/multiples.h"
#include "ir/pointwise.h"
#include "device/x86/element_cost.h"
#include "kernels/quantize/programs.h"
#include "kernels/quantize/spans.h"

namespace hone {
namespace {

Support supports(const QuantizePlan& plan, const Target&) {
  for (DType dtype : {plan.x, plan.result})
    if (compute_scalar(dtype) != Scalar::f32) return {fmt::format("elements of type {}", to_string(dtype))};
  return {};
}

int64_t items(const QuantizePlan& plan, const Target& target, const KernelArgs& args, const Format& format,
              const QuantizePrograms& programs) {
  switch (quantize_spans(format)) {
    case QuantizeSpans::whole:
      return ceil_div(args.dims[1], quantize_segment(plan, programs));
    case QuantizeSpans::lines:
      return args.dims[0];
    case QuantizeSpans::groups:
      return args.dims[0] * ceil_div(args.dims[3], int64_t{target.lanes()});
  }
  CHECK(false);
}

Launch launch(const QuantizePlan& plan, const Target& target, KernelArgs& args) {
  const Format format = parse_format(plan.format);
  const QuantizePrograms programs = quantize_programs(format);
  double ns = plan.task == QuantizePlan::Task::unpack ? 0.4 : element_ns(programs.rounded, 2, target);
  for (const QuantizePrograms::Reduction& r : programs.reductions) ns += element_ns(r.term, 1, target);
  double elements = 4096;
  if (quantize_spans(format) == QuantizeSpans::whole) elements = static_cast<double>(quantize_segment(plan, programs));
  if (quantize_spans(format) == QuantizeSpans::groups)
    elements = static_cast<double>(target.lanes() * format.geometry.columns);
  return {items(plan, target, args, format, programs),
          std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns * elements + 10)))};
}

std::string describe(const QuantizePlan& plan, const Target&) {
  return plan.task == QuantizePlan::Task::reduce ? fmt::format("the scale of {}, in parts", plan.format)
                                                 : fmt::format("elements in {}", plan.format);
}

bool takes(const OpDef& op) { return is_one_of(op, {"fake_quant", "quantize", "quantize_dynamic"}); }

constexpr KernelClass<QuantizePlan> quantize{.name = "quantize",
                                             .doc = "elements rounded to a number format, packed and unpacked",
                                             .takes = takes,
                                             .lower = lower_quantize,
                                             .supports = supports,
                                             .launch = launch,
                                             .describe = describe};

}  // namespace

extern constinit const KernelDef quantize_kernel_def = kernel_def<quantize>();
const KernelDef& QuantizePlan::kernel() { return quantize_kernel_def; }

}  // namespace hone
