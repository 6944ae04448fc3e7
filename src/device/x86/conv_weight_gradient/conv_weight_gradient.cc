// Weight gradients on x86: what there is code for, launches, reports, and parts of the places (shape.h).
#include <algorithm>

#include "base/multiples.h"
#include "device/x86/conv_weight_gradient/shape.h"
#include "device/x86/x86_kernel.h"
#include "ir/pointwise.h"
#include "kernels/elements.h"
#include "kernels/lowering.h"

namespace hone {
namespace {

constexpr size_t kShared = place_of<&ConvWeightGradientArgs::parts>;

Support supports(const X86ConvWeightGradientPlan& plan, const X86Target&) {
  constexpr int64_t kMostTaps = 4096;  // a scratch of some MB
  if (plan.window.taps() < 1 || plan.window.taps() > kMostTaps)
    return {fmt::format("a window of {} taps; at most {}", plan.window.taps(), kMostTaps)};
  for (DType type : {plan.x, plan.d})
    if (!is_loadable(type) || compute_scalar(type) != Scalar::f32)
      return {fmt::format("a sum of products of {}", to_string(type))};
  return {};
}

Launch launch(const X86ConvWeightGradientPlan& plan, const X86Target& target, PlaceBlockArgs& args) {
  if (plan.elements() == 0) return {};
  const PlaceBlocks blocks = place_blocks(plan, target, args);
  args.block_images = blocks.images, args.block_rows = blocks.rows;
  args.block_columns = blocks.columns, args.part_count = blocks.parts;
  // What a part adds to an element takes about 0.1 ns.
  if (plan.task == X86ConvWeightGradientPlan::Task::join)
    return {blocks.parts > 1 ? plan.elements() : 0, std::max<int64_t>(4096, 200'000 / blocks.parts)};
  const WeightGradientShape s = weight_gradient_shape(plan, target);
  const int64_t panels = s.depthwise ? s.block_outputs : s.block_channels;
  return {.items = blocks.parts * s.items_of_part(),
          .items_per_chunk = 1,
          .scratch_bytes = s.sums_bytes(plan.window.taps()) + round_up(blocks.places() * s.block_outputs * 4, 64) +
                           round_up(blocks.seen * panels * 4, 64)};
}

std::string describe(const X86ConvWeightGradientPlan& plan, const X86Target& target) {
  if (plan.task == X86ConvWeightGradientPlan::Task::join) return "the sum of the parts";
  const WeightGradientShape s = weight_gradient_shape(plan, target);
  return fmt::format("{}x{}: tile {}x{}{}, blocks of {} outputs and {} channels, up to {} parts",
                     plan.window.kernel_height, plan.window.kernel_width, s.depthwise ? 1 : s.rows, s.columns(),
                     s.dot ? " of bf16 dot products" : "", s.block_outputs, s.block_channels, most_parts(plan, target));
}

bool can_shrink(const X86ConvWeightGradientPlan& plan, const X86Target& target, int shrink) {
  return weight_gradient_shape(plan, target, shrink).rows < weight_gradient_shape(plan, target, shrink - 1).rows;
}

KernelSpeed speed(const X86ConvWeightGradientPlan&, const X86Target&) { return {0.95, 0.1}; }

// With a second step where the places may fall into parts.
Support adapt(const X86Device& device, const Lowering&, Prepared& prepared) {
  X86ConvWeightGradientPlan plan{prepared.step().plan->get<ConvWeightGradientPlan>()};
  prepared.step().plan = plan;
  const int64_t parts = most_parts(plan, device.target());
  if (parts <= 1) return {};
  StepDraft& sum = prepared.step();
  sum.shared_bytes = parts * plan.elements() * 4;
  sum.pointers[kShared].plane = Plane::shared;
  StepDraft join = sum;
  plan.task = X86ConvWeightGradientPlan::Task::join;
  join.plan = plan;
  for (size_t unread = 0; unread < kShared; ++unread) join.pointers[unread] = {};
  prepared.steps.push_back(std::move(join));
  return {};
}

constexpr X86KernelClass<X86ConvWeightGradientPlan, PlaceBlockArgs> kConvWeightGradient{
    .adapt = adapt,
    .supports = supports,
    .launch = launch,
    .describe = describe,
    .emit = emit_conv_weight_gradient,
    .can_shrink = can_shrink,
    .speed = speed};

}  // namespace

extern constinit const X86KernelDef conv_weight_gradient_on_x86_def = x86_kernel<kConvWeightGradient>();

}  // namespace hone
