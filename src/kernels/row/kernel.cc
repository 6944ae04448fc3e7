// Reductions along rows: when the class applies, and what joins it.
#include <algorithm>

#include "ir/graph.h"
#include "kernels/columns/plan.h"
#include "kernels/row/plan.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

bool keeps_rows(const Graph& graph, NodeId n) {
  return graph.type(graph.result(n)).shape == graph.type(graph.operand(n, 0)).shape;
}

bool works_on_rows(const Graph& graph, NodeId n) {
  const auto run = reduced_run(graph.node(n), graph.type(graph.operand(n, 0)).shape);
  return run && run->inner == Dim(1);
}

bool takes(const OpDef& op) { return op.row != nullptr; }

bool is_along(const Graph& graph, NodeId anchor, NodeId other) {
  return graph.type(graph.operand(other, 0)).shape == graph.type(graph.operand(anchor, 0)).shape;
}

// Whether a row is the last axis, whole and alone: what works from row to row beside the node has such rows, too. Those
// of others are of several axes, or of one element where an axis of size 1 in front of others is reduced.
bool works_along_last(const Graph& graph, NodeId n) {
  const Shape& shape = graph.type(graph.operand(n, 0)).shape;
  const auto run = reduced_run(graph.node(n), shape);
  return run && !shape.empty() && run->inner == Dim(1) && run->length == shape.back();
}

// Reductions of all that lies in front of the row, whose parts have a known size.
bool joins(const Graph& graph, NodeId anchor, NodeId other) {
  if (!keeps_rows(graph, anchor) || !works_along_last(graph, anchor) || !reduces_columns(graph, other) ||
      !is_along(graph, anchor, other))
    return false;
  const Shape& shape = graph.type(graph.operand(anchor, 0)).shape;
  const auto run = reduced_run(graph.node(other), shape);
  return run->outer == Dim(1) && run->inner == shape.back() && run->inner.is_constant();
}

// Other ops on the same rows.
bool feeds(const Graph& graph, NodeId anchor, NodeId producer) {
  return takes(*graph.node(producer).op) && is_along(graph, anchor, producer) && keeps_rows(graph, producer) &&
         works_along_last(graph, anchor) && works_along_last(graph, producer);
}

constexpr KernelClass<RowPlan> row{
    .name = "row",
    .doc = "reductions along rows and what is computed from them: norms, softmax, losses",
    .takes = takes,
    .precedence = 1,
    .suits = works_on_rows,  // those with other axes behind are columns
    .group = {.takes_users = keeps_rows,
              .takes_producers = works_on_rows,
              .operand_fits = [](const Shape& operand,
                                 const Shape& like) { return row_access(operand, like).has_value(); },
              .joins = joins,
              .feeds = feeds},
    .lower = lower_row};

}  // namespace

extern constinit const KernelDef row_kernel_def = kernel_def<row>();

int64_t kept_element_bytes(const RowPlan& plan, size_t reduction) {
  return std::max(8, width_bits(plan.reductions[reduction].element.result_type(0))) / 8;
}

const KernelDef& RowPlan::kernel() { return row_kernel_def; }

}  // namespace hone
