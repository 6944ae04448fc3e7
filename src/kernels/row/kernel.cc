// What follows from the plan of a row kernel.
#include <algorithm>

#include "base/multiples.h"
#include "ir/graph.h"
#include "kernels/columns/plan.h"
#include "device/x86/element_cost.h"
#include "kernels/elements.h"
#include "kernels/row/plan.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

Support supports(const RowPlan& plan, const Target&) {
  const size_t operands = plan.operands.size();
  if (operands + plan.results.size() + !plan.sums.empty() > KernelArgs{}.pointers.size() ||
      3 + 2 * operands + plan.results.size() > KernelArgs{}.dims.size())
    return {
        fmt::format("{} operands and {} results do not fit the arguments of a kernel", operands, plan.results.size())};
  for (const RowPlan::Operand& operand : plan.operands)
    if (!has_machine_type(operand.dtype)) return {fmt::format("elements of type {}", to_string(operand.dtype))};
  for (const RowPlan::Step& step : plan.reductions)
    if (step.element.result_type(0) == Scalar::boolean) return {"a reduction of booleans"};
  CHECK(plan.program.results.size() == plan.results.size() + plan.sums.size() &&
        plan.lies.size() == plan.results.size());
  return {};
}

Launch launch(const RowPlan& plan, const Target& target, KernelArgs& args) {
  const int64_t rows = args.dims[0], length = args.dims[1];
  Launch call{.items = rows};
  double ns = element_ns(plan.program, static_cast<int>(plan.results.size() + 2 * plan.sums.size()), target);
  for (size_t j = 0; j < plan.reductions.size(); ++j) {
    ns += element_ns(plan.reductions[j].element, 1, target);
    if (plan.reductions[j].keep) call.scratch_bytes += round_up(length, 64) * kept_element_bytes(plan, j);
  }
  ns = ns * static_cast<double>(length) + 10;  // of an item
  if (!plan.sums.empty()) {
    const int64_t each = args.dims[2 + 2 * plan.operands.size()] = rows_of_part(rows, length);
    call.items = ceil_div(rows, each);
    call.scratch_bytes += round_up(length, 64) * 4 * std::ssize(plan.sums);
    ns *= static_cast<double>(each);
  }
  call.items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>(20000 / ns));
  return call;
}

std::string describe(const RowPlan& plan, const Target&) {
  const auto kept = std::ranges::count_if(plan.reductions, &RowPlan::Step::keep);
  const size_t sums = plan.sums.size();
  return fmt::format("{} pass{} over each row{}{}", plan.reductions.size() + 1, plan.reductions.empty() ? "" : "es",
                     kept ? ", elements kept between" : "",
                     sums ? fmt::format(", {} reduction{} of columns", sums, sums == 1 ? "" : "s") : "");
}

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
    .lower = lower_row,
    .supports = supports,
    .launch = launch,
    .describe = describe};

}  // namespace

extern constinit const KernelDef row_kernel_def = kernel_def<row>();

int64_t kept_element_bytes(const RowPlan& plan, size_t reduction) {
  return std::max(8, width_bits(plan.reductions[reduction].element.result_type(0))) / 8;
}

const KernelDef& RowPlan::kernel() { return row_kernel_def; }

}  // namespace hone
