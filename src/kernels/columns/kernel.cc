// What follows from the plan of a reduction of columns.
#include "kernels/columns/plan.h"

#include <algorithm>

#include "base/multiples.h"
#include "ir/graph.h"
#include "device/x86/element_cost.h"
#include "kernels/elements.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

using Task = ColumnsPlan::Task;

Support supports(const ColumnsPlan& plan, const Target&) {
  const size_t operands = plan.operands.size();
  if (operands + plan.results.size() + 1 > KernelArgs{}.pointers.size() ||
      kColumnsFirstOperandDim + 2 * operands > KernelDims{}.size())
    return {
        fmt::format("{} operands and {} results do not fit the arguments of a kernel", operands, plan.results.size())};
  for (const Epilogue::Operand& operand : plan.operands)
    if (!has_machine_type(operand.dtype)) return {fmt::format("elements of type {}", to_string(operand.dtype))};
  for (const ColumnsPlan::Step& step : plan.reductions)
    if (step.element.result_type(0) != Scalar::f32) return {"a reduction of other elements than f32"};
  CHECK(plan.task == Task::part || plan.program.results.size() == plan.results.size());
  return {};
}

Launch launch(const ColumnsPlan& plan, const Target& target, KernelArgs& args) {
  KernelDims& d = args.dims;
  const int64_t rows = d[0], columns = d[1], blocks = ceil_div(columns, kColumnsAtOnce);
  d[3] = rows_of_part(rows, columns), d[4] = ceil_div(rows, d[3]);
  const int64_t each = plan.task == Task::join ? d[4] : plan.task == Task::part ? d[3] : rows;
  double ns = 0;  // an element
  for (const ColumnsPlan::Step& step : plan.reductions) ns += element_ns(step.element, 1, target);
  ns *= static_cast<double>(each * std::min(columns, kColumnsAtOnce));
  return {.items = blocks * (plan.task == Task::join   ? 1
                             : plan.task == Task::part ? d[4]
                                                       : d[2]),
          .items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns + 20))),
          .scratch_bytes = 2 * std::ssize(plan.reductions) * kColumnsAtOnce * 4};
}

std::string describe(const ColumnsPlan& plan, const Target&) {
  constexpr const char* kTasks[] = {"all rows", "parts of the rows", "parts together"};
  const size_t count = plan.reductions.size();
  return fmt::format("{} reduction{} of columns, {}", count, count == 1 ? "" : "s",
                     kTasks[static_cast<size_t>(plan.task)]);
}

bool takes(const OpDef& op) { return op.row && std::string_view(op.name).starts_with("reduce_"); }

// Both reduce the same axes of values of the same shape.
bool joins(const Graph& graph, NodeId anchor, NodeId other) {
  const Node &a = graph.node(anchor), &b = graph.node(other);
  if (!takes(*b.op)) return false;
  const Shape& shape = graph.type(a.operands[0]).shape;
  if (graph.type(b.operands[0]).shape != shape) return false;
  const auto run = reduced_run(a, shape), other_run = reduced_run(b, shape);
  return run && other_run && run->outer == other_run->outer && run->length == other_run->length &&
         run->inner == other_run->inner;
}

constexpr KernelClass<ColumnsPlan> columns{
    .name = "columns",
    .doc = "reductions over axes that have others behind them",
    .takes = takes,
    .group = {
        .takes_producers = [](const Graph&, NodeId) { return true; },
        .operand_fits = [](const Shape& operand, const Shape& like) { return row_access(operand, like).has_value(); },
        .joins = joins,
        .starts_last = true},
    .lower = lower_columns,
    .supports = supports,
    .launch = launch,
    .describe = describe};

}  // namespace

extern constinit const KernelDef columns_kernel_def = kernel_def<columns>();
const KernelDef& ColumnsPlan::kernel() { return columns_kernel_def; }

// Parts are some 20 us of work, few enough that joining them is a small part of it.
int64_t most_parts(int64_t columns) { return std::clamp<int64_t>((int64_t{1} << 16) / columns, 1, 64); }

int64_t rows_of_part(int64_t rows, int64_t columns) {
  return std::max(ceil_div(int64_t{1} << 15, columns), ceil_div(rows, most_parts(columns)));
}

int64_t parts_bytes(int64_t columns, int64_t reductions) { return most_parts(columns) * columns * reductions * 4; }

bool reduces_columns(const Graph& graph, NodeId n) {
  const Node& node = graph.node(n);
  if (!takes(*node.op)) return false;
  const auto run = reduced_run(node, graph.type(node.operands[0]).shape);
  return run && !(run->inner == Dim(1));
}

std::optional<ColumnReduction> column_reduction(const Graph& graph, NodeId n, size_t j) {
  const Node& node = graph.node(n);
  // The rule speaks of the element, the length, the reduction and its element.
  const Expr element = Expr::arg(0, Scalar::f32);
  const DType dtype = graph.type(node.operands[0]).dtype;
  const RowRule rule = node.op->row({{&element, 1}, node.attributes, {&dtype, 1}});
  if (rule.reductions.size() != 1 || reads_argument(flatten(rule.results[0]), 0)) return std::nullopt;
  const Expr known[] = {element, element, Expr::arg(1 + static_cast<int>(j), Scalar::f32), element};
  return ColumnReduction{rule.reductions[0].kind, rule.reductions[0].element, substitute(rule.results[0], known)};
}

}  // namespace hone
