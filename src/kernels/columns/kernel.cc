// Reductions of columns: when the class applies, and into what parts matrices fall.
#include "kernels/columns/plan.h"

#include <algorithm>

#include "base/multiples.h"
#include "ir/graph.h"
#include "kernels/program_uses.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

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
    .lower = lower_columns};

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
