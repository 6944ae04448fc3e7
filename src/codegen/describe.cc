#include "codegen/describe.h"

#include "codegen/attention_shape.h"
#include "codegen/conv_shape.h"
#include "codegen/winograd_shape.h"

namespace hone {
namespace {

std::string weights_of(const GemmPlan& plan, const GemmShape& s) {
  const std::string type = plan.w_format.empty() ? std::string(to_string(plan.w)) : plan.w_format;
  switch (s.source) {
    case WeightSource::dense:
      return type + " weights";
    case WeightSource::codes:
      return type + " weights decoded in the loop";
    case WeightSource::unpacked:
      return type + " weights decoded a panel at a time";
    case WeightSource::activation:
      return fmt::format("{} right operand laid out a panel at a time", type);
  }
  return type;
}

std::string products_of(const GemmShape& s) {
  return s.dot ? "bf16 dot products" : s.a == DType::bf16 ? "bf16 operands multiplied in f32" : "f32 products";
}

std::string describe_plan(const GemmPlan& plan, const Target& target) {
  const GemmShape s = gemm_shape(plan, target);
  return fmt::format("k {} n {}: tile {}x{}, {} panels, blocks of {} rows, {}, {}", plan.k, plan.n, s.rows,
                     s.panel_columns(), s.panels(), s.rows_per_block, weights_of(plan, s), products_of(s));
}

std::string describe_plan(const ConvPlan& plan, const Target& target) {
  const PlaneWindow& w = plan.window;
  const std::string window = fmt::format(
      "{}x{}/{}{}", w.kernel_height, w.kernel_width,
      w.stride_y == w.stride_x ? fmt::format("{}", w.stride_y) : fmt::format("{},{}", w.stride_y, w.stride_x),
      plan.groups > 1 ? fmt::format(" in {} groups", plan.groups) : "");
  if (plan.method == ConvPlan::Method::direct) {
    const ConvShape s = conv_shape(plan, target);
    return fmt::format("{} direct: tile {}x{}, {} panels, {} blocks of {} rows{}, {}, {}", window, s.gemm.rows,
                       s.gemm.panel_columns(), s.gemm.panels(), s.blocks, s.block_rows, s.copied ? " (x copied)" : "",
                       weights_of(plan.product, s.gemm), products_of(s.gemm));
  }
  const WinogradShape s = winograd_shape(plan, target);
  return fmt::format("{} Winograd F({}x{}): {} pieces by {}, tile {}x{}, {}; errors grow up to {:.0f}-fold", window,
                     s.w->piece, s.w->piece, s.pieces(), s.block_pieces, s.gemm.rows, s.gemm.panel_columns(),
                     products_of(s.gemm), winograd_growth(*s.w));
}

std::string describe_plan(const WindowPlan& plan, const Target&) {
  return fmt::format("{} over {}x{} of {} channels",
                     plan.reduction == WindowPlan::Reduction::products ? "products"
                     : plan.reduction == WindowPlan::Reduction::max    ? "maximum"
                                                                       : "sum",
                     plan.plane.kernel_height, plan.plane.kernel_width, plan.channels);
}

std::string describe_plan(const PointwisePlan& plan, const Target&) {
  size_t strided = 0;
  for (const PointwisePlan::Operand& o : plan.operands) strided += o.inner == PointwisePlan::Inner::strided;
  return fmt::format("{} loop{}{}", plan.rank, plan.rank == 1 ? "" : "s",
                     strided ? fmt::format(", {} strided operand{}", strided, strided == 1 ? "" : "s") : "");
}

std::string describe_plan(const RowPlan& plan, const Target&) {
  size_t kept = 0;
  for (const RowPlan::Step& step : plan.reductions) kept += step.keep;
  return fmt::format("{} pass{} over each row of up to {}{}", plan.reductions.size() + 1,
                     plan.reductions.empty() ? "" : "es", plan.max_length, kept ? ", elements kept between" : "");
}

std::string describe_plan(const AttentionPlan& plan, const Target&) {
  return fmt::format("{} heads of {}{}, {} operands", plan.heads, plan.head_dim, plan.causal ? ", causal" : "",
                     to_string(plan.dtype));
}

std::string describe_plan(const GatherPlan& plan, const Target&) {
  return fmt::format("rows of {} {}", plan.columns,
                     plan.table_format.empty() ? to_string(plan.table) : std::string_view(plan.table_format));
}

std::string describe_plan(const ResizePlan& plan, const Target&) {
  return fmt::format("{} x {} elements for each place, from tables", plan.rows.taps, plan.columns.taps);
}

std::string describe_plan(const QuantisePlan& plan, const Target&) {
  return plan.task == QuantisePlan::Task::reduce ? fmt::format("the scale of {}, in parts", plan.format)
                                                 : fmt::format("elements in {}", plan.format);
}

std::string describe_plan(const TransposePlan& plan, const Target&) {
  return fmt::format("squares of {}-byte elements in registers", plan.element_bytes);
}

}  // namespace

std::string describe(const KernelPlan& plan, const Target& target) {
  return std::visit([&](const auto& p) { return describe_plan(p, target); }, plan);
}

}  // namespace hone
