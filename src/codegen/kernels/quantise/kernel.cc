// What follows from the plan of a quantising kernel.
#include <algorithm>

#include "base/multiples.h"
#include "codegen/element_cost.h"
#include "codegen/kernels/quantise/programs.h"
#include "codegen/kernels/quantise/spans.h"
#include "ir/pointwise.h"

namespace hone {
namespace {

Refusal supports(const QuantisePlan& plan, const Target&) {
  for (DType dtype : {plan.x, plan.result})
    if (compute_scalar(dtype) != Scalar::f32) return {fmt::format("elements of type {}", to_string(dtype))};
  return {};
}

int64_t items(const QuantisePlan& plan, const Target& target, const KernelArgs& args, const Format& format,
              const QuantisePrograms& programs) {
  switch (quantise_spans(format)) {
    case QuantiseSpans::whole:
      return ceil_div(args.dims[1], quantise_segment(plan, programs));
    case QuantiseSpans::lines:
      return args.dims[0];
    case QuantiseSpans::groups:
      return args.dims[0] * ceil_div(args.dims[3], int64_t{target.lanes()});
  }
  CHECK(false);
}

Launch launch(const QuantisePlan& plan, const Target& target, KernelArgs& args) {
  const Format format = parse_format(plan.format);
  const QuantisePrograms programs = quantise_programs(format);
  double ns = plan.task == QuantisePlan::Task::unpack ? 0.4 : element_ns(programs.rounded, 2, target);
  for (const QuantisePrograms::Reduction& r : programs.reductions) ns += element_ns(r.term, 1, target);
  double elements = 4096;
  if (quantise_spans(format) == QuantiseSpans::whole) elements = static_cast<double>(quantise_segment(plan, programs));
  if (quantise_spans(format) == QuantiseSpans::groups)
    elements = static_cast<double>(target.lanes() * format.geometry.columns);
  return {items(plan, target, args, format, programs),
          std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns * elements + 10)))};
}

std::string describe(const QuantisePlan& plan, const Target&) {
  return plan.task == QuantisePlan::Task::reduce ? fmt::format("the scale of {}, in parts", plan.format)
                                                 : fmt::format("elements in {}", plan.format);
}

bool takes(const OpDef& op) { return is_one_of(op, {"fake_quant"}); }

constexpr KernelClass<QuantisePlan> quantise{.name = "quantise",
                                             .doc = "elements rounded to a number format, packed and unpacked",
                                             .takes = takes,
                                             .lower = lower_quantise,
                                             .supports = supports,
                                             .launch = launch,
                                             .describe = describe};

}  // namespace

extern constinit const KernelDef quantise_kernel_def = kernel_def<quantise>();
const KernelDef& QuantisePlan::kernel() { return quantise_kernel_def; }

}  // namespace hone
