// Window kernels on x86: what there is code for, launches and reports (shape.h).
#include <algorithm>

#include "device/x86/element_cost.h"
#include "device/x86/reduce_window/prepack.h"
#include "device/x86/reduce_window/shape.h"
#include "device/x86/x86_kernel.h"
#include "ir/pointwise.h"
#include "kernels/elements.h"
#include "kernels/shapes.h"
#include "ops/integer_activations.h"

namespace hone {
namespace {

Support supports(const ReduceWindowPlan& plan, const X86Target&) {
  if (plan.operands.size() + plan.results.size() + plan.has_x_zero > ReduceWindowArgs().epilogue.size())
    return {fmt::format("{} operands and {} results do not fit the arguments of a kernel", plan.operands.size(),
                        plan.results.size())};
  const PlaneWindow& p = plan.plane;
  const bool some_place = plan.any_plane || (p.height > 0 && p.width > 0 && p.out_height > 0 && p.out_width > 0);
  if (plan.channels < 1 || !some_place)
    return {fmt::format("a window over nothing: {} channels, {}", plan.channels, p.to_text())};
  if (!has_machine_type(plan.x) || plan.x == DType::boolean)
    return {fmt::format("a window over elements of type {}", to_string(plan.x))};
  const bool is_code = plan.x == DType::i8 || plan.x == DType::u8;
  if (plan.reduction == ReduceWindowPlan::Reduction::products && compute_scalar(plan.x) != Scalar::f32 && !is_code)
    return {fmt::format("products of {}", to_string(plan.x))};
  if (plan.has_x_zero && !plan.multiplies_codes()) return {"a code outside planes of floats"};
  if (plan.multiplies_codes() && (p.taps() > kMostTapsOfCodes || !plan.w_format.empty()))
    return {fmt::format("{} products of codes, whose sums f32 may not hold", p.taps())};
  if (plan.reduction == ReduceWindowPlan::Reduction::products && p.taps() == 0)
    return {"weights for windows of any size"};
  for (const Epilogue::Operand& operand : plan.operands)
    if (!has_machine_type(operand.dtype)) return {fmt::format("elements of type {}", to_string(operand.dtype))};
  CHECK(plan.program.results.size() == plan.results.size());
  if (!plan.w_format.empty()) return prepackable(parse_format(plan.w_format));
  return {};
}

Launch launch(const ReduceWindowPlan& any, const X86Target& target, WindowTileArgs& args) {
  const ReduceWindowPlan plan = on_plane_of(any, args.window);
  const PlaneWindow& p = plan.plane;
  if (p.out_height < 1 || p.out_width < 1) return {};
  write_derived(plan, target, args);
  const int64_t items = args.images * p.out_height * channel_blocks(plan, target);
  const double results = static_cast<double>(p.out_width * block_vectors(plan, target) * target.lanes());
  const auto streams = static_cast<int>(plan.operands.size() + plan.results.size());
  const double ns =
      results * (element_ns(plan.program, streams, target) + static_cast<double>(p.taps()) / target.lanes() / 2);
  if (plan.w_format.empty()) return {items, std::max<int64_t>(1, static_cast<int64_t>(20000 / ns))};
  // Each call decodes all weights first, about one a nanosecond; that should be a small part of it.
  const double decoding = static_cast<double>(plan.channels * p.taps());
  return {items, std::max<int64_t>(1, static_cast<int64_t>((20000 + 8 * decoding) / ns)),
          weight_row_bytes(plan, target) * p.taps()};
}

std::string describe(const ReduceWindowPlan& plan, const X86Target&) {
  constexpr const char* kReductions[] = {"sum", "maximum", "minimum", "products"};
  const std::string window =
      plan.plane.taps() > 0 ? fmt::format("{}x{}", plan.plane.kernel_height, plan.plane.kernel_width) : "any window";
  return fmt::format("{} over {} of {} channels", kReductions[static_cast<size_t>(plan.reduction)], window,
                     plan.channels);
}

bool can_shrink(const ReduceWindowPlan& plan, const X86Target& target, int shrink) {
  if (!plan.any_plane) return window_tile(plan, target, shrink) != window_tile(plan, target, shrink - 1);
  return inner_tile(plan, target, shrink) != inner_tile(plan, target, shrink - 1) ||
         single_tile(plan, target, shrink) != single_tile(plan, target, shrink - 1);
}

KernelSpeed speed(const ReduceWindowPlan&, const X86Target&) { return {0.95, 0.2}; }

constexpr X86KernelClass<ReduceWindowPlan, WindowTileArgs> kWindow{.supports = supports,
                                                                   .launch = launch,
                                                                   .describe = describe,
                                                                   .emit = emit_reduce_window,
                                                                   .can_shrink = can_shrink,
                                                                   .speed = speed,
                                                                   .prepack_key = prepack_key,
                                                                   .prepacked_bytes = prepacked_bytes,
                                                                   .prepack = prepack};

}  // namespace

extern constinit const X86KernelDef window_on_x86_def = x86_kernel<kWindow>();

}  // namespace hone
