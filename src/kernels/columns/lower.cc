// Reductions of columns, as many as share a pass, with what is computed in front of them.
#include "kernels/columns/plan.h"
#include "kernels/lowering.h"

#include <map>

#include "ir/pointwise.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

using Access = Epilogue::Access;
using Task = ColumnsPlan::Task;

struct Lies {
  Access access;
  Dim row_stride = 0, period = 0;
};

// How an operand of what is reduced lies beside it.
std::optional<Lies> lies(const Shape& operand, const Shape& shape, const AxisRun& run) {
  if (operand == shape) return Lies{Access::full, run.inner};
  if (element_count(operand) == Dim(1)) return Lies{Access::scalar};
  if (!(run.inner == shape.back())) return std::nullopt;  // columns are several axes
  const auto access = row_access(operand, shape);
  if (!access) return std::nullopt;
  const bool same = access->row_stride == Dim(0);
  const Access kind =
      access->row_scalar ? (same ? Access::scalar : Access::row) : (same ? Access::column : Access::full);
  return Lies{kind, access->row_stride, access->period};
}

// Reductions and results; the values that their elements are computed from.
Support describe_group(const Lowering& lowering, const Group& group, ColumnsPlan& plan,
                       std::vector<ValueId>& operands) {
  const Graph& graph = lowering.graph;
  ExprBuilderForGroup builder(graph, 0);
  for (NodeId n : group.nodes)
    if (graph.node(n).op->pointwise) builder.apply(n);
  std::map<ValueId, Expr> results;
  for (NodeId n : group.nodes) {
    const Node& node = graph.node(n);
    if (node.op->pointwise) continue;
    const TensorType& type = graph.type(node.operands[0]);
    if (compute_scalar(type.dtype) != Scalar::f32 || type.is_packed())
      return {fmt::format("a reduction of {}", to_string(type))};
    const auto reduction = column_reduction(graph, n, plan.reductions.size());
    if (!reduction) return {"its results are not one for each column"};
    const Expr own[] = {builder.get(node.operands[0])};
    plan.reductions.push_back({static_cast<int>(reduction->kind), flatten(substitute(reduction->element, own))});
    results.emplace(node.results[0], reduction->result);
  }
  std::vector<Expr> roots;
  for (ValueId v : group.results) {
    if (!results.contains(v)) return {fmt::format("%{} is read elsewhere, too", graph.value(v).name)};
    roots.push_back(results.at(v));
  }
  plan.program = flatten(roots);
  plan.results = lowering.dtypes(group.results);
  operands = builder.operands();
  return {};
}

// One matrix that is large, or may be: in two steps, which pass its parts on.
bool falls_into_parts(const AxisRun& run) {
  if (!(run.outer == Dim(1)) || !run.inner.is_constant() || most_parts(run.inner.constant()) == 1) return false;
  return !run.length.is_constant() || rows_of_part(run.length.constant(), run.inner.constant()) < run.length.constant();
}

}  // namespace

Support lower_columns(const Lowering& lowering, Prepared& prepared) {
  const Graph& graph = lowering.graph;
  StepDraft step = prepared.step();
  const Node& node = graph.node(step.group.anchor);
  const Shape shape = lowering.shape(node.operands[0]);
  const auto run = reduced_run(node, shape);
  if (!run || run->inner == Dim(1)) return {"it works along the last axis, or along axes that do not lie together"};
  ColumnsPlan plan;
  std::vector<ValueId> operands;
  if (Support r = describe_group(lowering, step.group, plan, operands); !r.supported()) return r;
  std::vector<Extent> strides, periods;
  for (ValueId v : operands) {
    auto place = lies(lowering.shape(v), shape, *run);
    if (place && lowering.lies_apart(v)) {
      const bool each = place->access == Access::row || place->access == Access::scalar;
      const std::optional<Dim> stride = lowering.row_stride(v, each ? Dim(1) : run->inner);
      if (!stride) place = std::nullopt;
      else if (!(place->row_stride == Dim(0))) place->row_stride = *stride;
    }
    if (!place || graph.type(v).is_packed())
      return {fmt::format("operand %{} does not lie along the rows", graph.value(v).name)};
    plan.operands.push_back({graph.type(v).dtype, place->access});
    strides.push_back(lowering.extent(place->row_stride)), periods.push_back(lowering.extent(place->period));
    lowering.bind(step, v);
  }
  step.lasting = true;
  const bool parts = falls_into_parts(*run);
  if (parts) {
    step.shared_bytes = parts_bytes(run->inner.constant(), std::ssize(plan.reductions));
    StepDraft join = step;
    join.pointers.clear();
    lowering.bind(step, kNone, Plane::shared);
    lowering.bind(join, kNone, Plane::shared);
    for (ValueId v : step.group.results) lowering.bind(join, v);
    ColumnsPlan joined = plan;
    plan.task = Task::part, joined.task = Task::join;
    plan.program = {}, plan.results.clear();
    joined.operands.clear();
    for (ColumnsPlan::Step& reduction : joined.reductions) reduction.element = flatten(Expr::arg(0, Scalar::f32));
    step.plan = plan, join.plan = joined;
    prepared.steps = {step, join};
  } else {
    for (ValueId v : step.group.results) lowering.bind(step, v);
    step.plan = plan;
    prepared.steps = {step};
  }
  const Extent matrices = lowering.extent(run->outer), rows = lowering.extent(run->length),
               columns = lowering.extent(run->inner);
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    ColumnsArgs args{.rows = sizes.of(rows), .columns = sizes.of(columns), .matrices = sizes.of(matrices)};
    for (size_t i = 0; i < strides.size(); ++i)
      args.operands[i] = sizes.of(strides[i]), args.operands[strides.size() + i] = sizes.of(periods[i]);
    placed.set(args);
    return Support{};
  };
  return {};
}

}  // namespace hone
