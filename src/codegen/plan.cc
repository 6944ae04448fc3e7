#include "codegen/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/llvm/generate.h"
#include "codegen/winograd_shape.h"

namespace hone {
namespace {

std::string types_of(const std::vector<DType>& types) {
  std::string text;
  for (DType type : types) text += fmt::format(" {}", to_string(type));
  return text;
}

std::string text_of(const PointwisePlan& plan) {
  constexpr const char* kInner[] = {"contiguous", "broadcast", "strided"};
  std::string text = fmt::format("pointwise rank={}{}\noperands", plan.rank, plan.dense ? "" : " parts");
  for (const PointwisePlan::Operand& o : plan.operands)
    text += fmt::format(" {}:{}", to_string(o.dtype), kInner[static_cast<size_t>(o.inner)]);
  return text + fmt::format("\nresults{}\nprogram\n{}", types_of(plan.results), plan.program.to_text());
}

std::string text_of(const Epilogue& epilogue) {
  constexpr const char* kAccess[] = {"full", "column", "row", "scalar"};
  std::string text = "\noperands";
  for (const Epilogue::Operand& o : epilogue.operands)
    text += fmt::format(" {}:{}", to_string(o.dtype), kAccess[static_cast<size_t>(o.access)]);
  return text + fmt::format("\nresults{}\nprogram\n{}", types_of(epilogue.results), epilogue.program.to_text());
}

std::string text_of(const RowPlan& plan) {
  std::string text = fmt::format("row max_length={}\noperands", plan.max_length);
  for (const RowPlan::Operand& o : plan.operands)
    text += fmt::format(" {}{}", to_string(o.dtype), o.row_scalar ? ":row" : "");
  text += "\nresults";
  for (size_t j = 0; j < plan.results.size(); ++j)
    text += fmt::format(" {}{}", to_string(plan.results[j]), plan.scalar_results[j] ? ":row" : "");
  for (const RowPlan::Step& step : plan.reductions)
    text += fmt::format("\nreduce kind={} keep={}\n{}", step.kind, step.keep, step.element.to_text());
  return text + fmt::format("\nprogram\n{}", plan.program.to_text());
}

std::string text_of(const GemmPlan& plan) {
  constexpr const char* kWeights[] = {"prepacked", "activation_nk", "activation_kn"};
  return fmt::format("gemm n={} k={} a={} weights={} w={} m_hint={} m_remainder={} row strides {} {}", plan.n, plan.k,
                     to_string(plan.a), kWeights[static_cast<size_t>(plan.weights)],
                     plan.w_format.empty() ? to_string(plan.w) : std::string_view(plan.w_format), plan.m_hint,
                     plan.m_remainder, plan.a_row_stride, plan.result_row_stride) +
         text_of(static_cast<const Epilogue&>(plan));
}

std::string text_of(const WindowPlan& plan) {
  constexpr const char* kReductions[] = {"sum", "max", "min", "products"};
  return fmt::format("window {} {} channels={} x={} w={} taps {} x {}",
                     kReductions[static_cast<size_t>(plan.reduction)], plan.plane.to_text(), plan.channels,
                     to_string(plan.x), plan.w_format, fmt::join(plan.taps_down, " "),
                     fmt::join(plan.taps_across, " ")) +
         text_of(static_cast<const Epilogue&>(plan));
}

std::string text_of(const ConvPlan& plan) {
  return fmt::format("conv {} groups={} channels={} method={}\n{}", plan.window.to_text(), plan.groups, plan.channels,
                     to_string(plan.method), text_of(plan.product));
}

std::string text_of(const AttentionPlan& plan) {
  return fmt::format(
      "attention heads={} kv_heads={} head_dim={} dtype={} result={} mask={} causal={} scale={} max_length={}",
      plan.heads, plan.kv_heads, plan.head_dim, to_string(plan.dtype), to_string(plan.result), plan.has_mask,
      plan.causal, plan.scale, plan.max_length);
}

std::string text_of(const GatherPlan& plan) {
  return fmt::format("gather columns={} table={} rows={} ids={} result={}", plan.columns,
                     plan.table_format.empty() ? to_string(plan.table) : std::string_view(plan.table_format), plan.rows,
                     to_string(plan.ids), to_string(plan.result));
}

std::string text_of(const TransposePlan& plan) {
  return fmt::format("transpose bytes={} rows={} columns={}", plan.element_bytes, plan.rows, plan.columns);
}

std::string text_of(const ResizePlan& plan) {
  const auto axis = [](const ResizePlan::Axis& a) {
    return fmt::format("{}: {} by {}", a.taps, fmt::join(a.positions, " "), fmt::join(a.weights, " "));
  };
  return fmt::format("resize {} {}x{}x{} -> {}\n{}\n{}", to_string(plan.x), plan.height, plan.width, plan.channels,
                     to_string(plan.result), axis(plan.rows), axis(plan.columns));
}

std::string text_of(const QuantisePlan& plan) {
  constexpr const char* kTasks[] = {"round", "reduce", "pack", "unpack"};
  return fmt::format("quantise {} stage={} {} x={} result={}{}", kTasks[static_cast<size_t>(plan.task)], plan.stage,
                     plan.format, to_string(plan.x), to_string(plan.result), plan.counts ? " counts" : "");
}

}  // namespace

std::string PlaneWindow::to_text() const {
  return fmt::format("plane {}x{} -> {}x{} kernel {}x{} stride {}x{} dilation {}x{} pad {},{}", height, width,
                     out_height, out_width, kernel_height, kernel_width, stride_y, stride_x, dilation_y, dilation_x,
                     pad_top, pad_left);
}

std::string to_text(const KernelPlan& plan) {
  return std::visit([](const auto& p) { return text_of(p); }, plan);
}

std::string_view kind_name(const KernelPlan& plan) {
  constexpr std::string_view kNames[] = {"pointwise", "row",    "gemm",      "conv",   "window",
                                         "attention", "gather", "transpose", "resize", "quantise"};
  static_assert(std::variant_size_v<KernelPlan> == std::size(kNames));
  return kNames[plan.index()];
}

int64_t work_items(const KernelPlan& plan, const Target& target, const KernelArgs& args) {
  return std::visit([&](const auto& p) { return kernels::items(p, target, args); }, plan);
}

}  // namespace hone
