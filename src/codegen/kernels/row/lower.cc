// Reductions along the last axis with what is computed before and after them.
#include "codegen/kernels/row/plan.h"
#include "codegen/lowering.h"

#include <algorithm>

#include "codegen/shapes.h"
#include "ir/pointwise.h"

namespace hone {

Support lower_row(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const Shape shape = lowering.shape(node.operands[0]);
  if (shape.empty()) return {"a scalar has no rows"};
  const auto run = reduced_run(node, shape);
  if (!run) return {"it reduces axes that an operand lists or that do not lie together"};
  if (!(run->inner == Dim(1))) return {"it works along an axis with others behind it"};
  const Shape like = shape.back() == run->length ? shape : Shape{run->outer, run->length};
  for (ValueId v : node.operands)
    if (v != kNone && compute_scalar(graph.type(v).dtype) != Scalar::f32)
      return {fmt::format("rows of {}", to_string(graph.type(v).dtype))};
  ExprBuilderForGroup builder(graph, 0);
  const std::set<NodeId> behind = lowering.behind_anchor(step.group);
  std::vector<NodeId> before, after;
  for (NodeId n : step.group.nodes)
    if (n != step.group.anchor) (behind.contains(n) ? after : before).push_back(n);
  for (NodeId n : before) builder.apply(n);
  std::vector<Expr> own;
  std::vector<DType> own_dtypes;
  for (ValueId v : node.operands) {
    if (v == kNone) continue;
    own.push_back(builder.get(v));
    own_dtypes.push_back(graph.type(v).dtype);
  }
  // Followers may read further operands, which are numbered before the row's length and reductions: meet them first.
  for (NodeId n : after)
    for (ValueId v : graph.node(n).operands)
      if (!lowering.in_group(step.group, graph.producer(v))) builder.get(v);
  const std::vector<ValueId> operands = builder.operands();
  std::vector<Expr> plain;  // the rule speaks of the op's own operands; their expressions are put in below
  for (size_t i = 0; i < own.size(); ++i) plain.push_back(Expr::arg(static_cast<int>(i), Scalar::f32));
  const RowRule rule = node.op->row({plain, node.attributes, own_dtypes});
  const int k = static_cast<int>(own.size()), total = static_cast<int>(operands.size()),
            r = static_cast<int>(rule.reductions.size());
  std::vector<Expr> replacements = own;
  for (int i = 0; i < 1 + 2 * r; ++i) replacements.push_back(Expr::arg(total + i, Scalar::f32));
  CHECK(static_cast<int>(replacements.size()) == k + 1 + 2 * r);
  RowPlan plan;
  for (const Reduction& reduction : rule.reductions)
    plan.reductions.push_back(
        {static_cast<int>(reduction.kind), flatten(substitute(reduction.element, replacements)), reduction.keep});
  for (size_t i = 0; i < node.results.size(); ++i)
    builder.define(node.results[i], substitute(rule.results[i], replacements));
  for (NodeId n : after) builder.apply(n);
  plan.program = program_of(builder, graph, step.group.results);
  plan.results = lowering.dtypes(step.group.results);
  for (ValueId v : step.group.results)
    plan.scalar_results.push_back(graph.type(v).shape != graph.type(node.operands[0]).shape);
  // Scalar results are written last, and may read elements of the row.
  const bool only_vectors =
      std::find(plan.scalar_results.begin(), plan.scalar_results.end(), true) == plan.scalar_results.end();
  struct Along {
    Extent row_stride, period;
  };
  std::vector<Along> along;
  for (ValueId v : operands) {
    const Shape own_shape = lowering.shape(v);
    const auto access = row_access(own_shape == shape ? like : own_shape, like);
    if (!access || graph.type(v).is_packed())
      return {fmt::format("operand %{} does not lie along the rows", graph.value(v).name)};
    plan.operands.push_back({graph.type(v).dtype, access->row_scalar});
    if (only_vectors && access->row_stride == like.back() && access->period == Dim(0) && !access->row_scalar)
      step.overwritable.push_back(v);
    along.push_back({lowering.extent(access->row_stride), lowering.extent(access->period)});
    lowering.bind(step, v);
  }
  for (ValueId v : step.group.results) lowering.bind(step, v);
  step.plan = plan;
  step.lasting = true;
  const Extent rows = lowering.count(Shape(like.begin(), like.end() - 1)), length = lowering.extent(like.back());
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    auto& d = placed.dims;
    d[0] = sizes.of(rows), d[1] = sizes.of(length);
    for (size_t i = 0; i < along.size(); ++i)
      d[2 + i] = sizes.of(along[i].row_stride), d[2 + along.size() + i] = sizes.of(along[i].period);
    return Support{};
  };
  return {};
}

}  // namespace hone
