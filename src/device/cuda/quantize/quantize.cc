// Kernels of number formats on CUDA: elements rounded to a format, or turned into its codes. Codes become elements in
// gather kernels (op dequantize).
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/functions.h"
#include "device/cuda/quantize/emit.h"
#include "device/cuda/quantize/units.h"
#include "ir/pointwise.h"
#include "kernels/lowering.h"

namespace hone {
namespace {

using Task = QuantizePlan::Task;

int thread_lanes(const QuantizePlan& plan, const CudaTarget&) { return QuantizeUnits(plan, kCudaThreads).lanes; }

// Kernels that reduce leave a part for each segment or block.
Support adapt(const CudaDevice&, const Lowering&, Prepared& prepared) {
  const StepDraft& first = prepared.step();
  const QuantizePlan& plan = first.plan->get<QuantizePlan>();
  if (plan.task != Task::reduce) return {};
  auto args = first.args<QuantizeArgs>();
  args.part_count = QuantizeUnits(plan, kCudaThreads).parts(plan, args);
  const int64_t bytes = args.part_count * quantize_stages(parse_format(plan.format)).part_bytes;
  for (StepDraft& step : prepared.steps) step.set(args), step.shared_bytes = bytes;
  return {};
}

Support supports_programs(const QuantizePrograms& p) {
  std::vector<const Program*> all{&p.global_term, &p.global_value, &p.code, &p.rounded, &p.error};
  for (const QuantizePrograms::Reduction& r : p.reductions) all.push_back(&r.term);
  for (const Program& scales : p.scales) all.push_back(&scales);
  for (const Program* program : all)
    if (Support support = supports_functions(*program); !support.supported()) return support;
  return {};
}

Support supports(const QuantizePlan& plan, const CudaTarget&) {
  for (DType dtype : {plan.x, plan.result})
    if (compute_scalar(dtype) != Scalar::f32) return {fmt::format("elements of type {}", to_string(dtype))};
  if (plan.task == Task::unpack) return {"codes without a table's layout: gather kernels decode"};
  if (plan.counts) return {"counts of what codes cannot represent"};
  return supports_programs(quantize_programs(parse_format(plan.format)));
}

Launch launch(const QuantizePlan& plan, const CudaTarget&, QuantizeArgs& args) {
  return {.items = QuantizeUnits(plan, kCudaThreads).blocks(plan, args)};
}

std::string describe(const QuantizePlan& plan, const CudaTarget&) {
  const QuantizeUnits units(plan, kCudaThreads);
  if (plan.task == Task::reduce) return fmt::format("the scale of {}, in parts", plan.format);
  const char* unit = units.spans == QuantizeSpans::groups  ? "a group"
                     : units.spans == QuantizeSpans::lines ? "a line"
                                                           : "a segment";
  return fmt::format("elements in {}; {} threads take {}, {} elements each at a time", plan.format, units.team, unit,
                     units.lanes);
}

void emit(CudaEmitter& e, const QuantizePlan& plan, const std::string& symbol, int) { emit_quantize(e, plan, symbol); }

constexpr CudaKernelClass<QuantizePlan, QuantizeArgs> kQuantize{
    .adapt = adapt, .supports = supports, .launch = launch, .describe = describe, .emit = emit, .lanes = thread_lanes};

}  // namespace

extern constinit const CudaKernelDef quantize_on_cuda_def = cuda_kernel<kQuantize>();

}  // namespace hone
