// Reductions along the last axis with what is computed before and after them, and columns of it that are summed.
#include "kernels/lowering.h"
#include "kernels/row/plan.h"

#include <algorithm>

#include "ir/pointwise.h"
#include "kernels/columns/plan.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

Expr number(size_t position) { return Expr::arg(static_cast<int>(position), Scalar::f32); }

// Expressions of a group's values: its row ops in order, their reductions numbered through, equal ones made once.
// Arguments are those of RowPlan.
class RowExpressions {
 public:
  RowExpressions(const Lowering& lowering, const Group& group) : graph_(lowering.graph), builder_(graph_, 0) {
    for (NodeId n : group.nodes) {
      const Node& node = graph_.node(n);
      for (ValueId v : node.operands)
        if (v != kNone && !lowering.in_group(group, graph_.producer(v))) builder_.get(v);
      if (is_row(n)) most_ += rule_of(n).reductions.size();
    }
    for (NodeId n : group.nodes) {
      if (graph_.node(n).op->pointwise) builder_.apply(n);
      else if (is_row(n)) apply_row(n);
      else sums_.push_back(n);
    }
  }

  const std::vector<ValueId>& operands() const { return builder_.operands(); }
  const std::vector<NodeId>& sums() const { return sums_; }  // reductions of columns
  std::vector<RowPlan::Step> reductions() const {
    std::vector<RowPlan::Step> steps;
    for (const Reduction& r : reductions_)
      steps.push_back({static_cast<int>(r.kind), flatten(numbered(r.element)), r.keep});
    return steps;
  }
  Expr value(ValueId v) { return numbered(typed(compute_scalar(graph_.type(v).dtype), builder_.get(v))); }

 private:
  bool is_row(NodeId n) const { return graph_.node(n).op->row && !reduces_columns(graph_, n); }

  RowRule rule_of(NodeId n) const {
    const Node& node = graph_.node(n);
    std::vector<Expr> plain;
    std::vector<DType> dtypes;
    for (ValueId v : node.operands) {
      if (v == kNone) continue;
      plain.push_back(number(plain.size()));
      dtypes.push_back(graph_.type(v).dtype);
    }
    return node.op->row({plain, node.attributes, dtypes});
  }

  void apply_row(NodeId n) {
    const Node& node = graph_.node(n);
    const RowRule rule = rule_of(n);
    std::vector<Expr> replacements;  // of the rule's arguments
    for (ValueId v : node.operands)
      if (v != kNone) replacements.push_back(builder_.get(v));
    const size_t first = operands().size(), own = replacements.size(), count = rule.reductions.size();
    replacements.push_back(number(first));
    replacements.resize(own + 1 + 2 * count, number(first));
    for (size_t j = 0; j < count; ++j) {
      const size_t at = place(
          {rule.reductions[j].kind, substitute(rule.reductions[j].element, replacements), rule.reductions[j].keep});
      replacements[own + 1 + j] = number(first + 1 + at);
      replacements[own + 1 + count + j] = number(first + 1 + most_ + at);
    }
    for (size_t i = 0; i < node.results.size(); ++i)
      builder_.define(node.results[i], substitute(rule.results[i], replacements));
  }

  size_t place(Reduction reduction) {
    const Program program = flatten(reduction.element);
    for (size_t i = 0; i < reductions_.size(); ++i)
      if (reductions_[i].kind == reduction.kind && flatten(reductions_[i].element) == program) {
        reductions_[i].keep |= reduction.keep;
        return i;
      }
    reductions_.push_back(std::move(reduction));
    return reductions_.size() - 1;
  }

  // Elements that reductions keep are counted from the most reductions that there may be until all are known.
  Expr numbered(const Expr& e) const {
    std::vector<Expr> places;
    for (ValueId v : operands())
      places.push_back(Expr::arg(static_cast<int>(places.size()), compute_scalar(graph_.type(v).dtype)));
    const size_t first = places.size(), count = reductions_.size();
    for (size_t i = 0; i < 1 + most_; ++i) places.push_back(number(first + i));
    for (size_t i = 0; i < count; ++i) places.push_back(number(first + 1 + count + i));
    return substitute(e, places);
  }

  const Graph& graph_;
  ExprBuilderForGroup builder_;
  size_t most_ = 0;
  std::vector<Reduction> reductions_;
  std::vector<NodeId> sums_;
};

// The second step of a group with sums of columns, which joins the parts that the first leaves. Both have the sizes of
// the first.
static_assert(place_of<&RowArgs::rows> == place_of<&ColumnsArgs::rows> &&
              place_of<&RowArgs::length> == place_of<&ColumnsArgs::columns>);
StepDraft joining_step(const Lowering& lowering, StepDraft step, const std::vector<NodeId>& sums) {
  step.pointers.clear(), step.overwritable.clear();
  ColumnsPlan plan;
  plan.task = ColumnsPlan::Task::join;
  std::vector<Expr> results;
  lowering.bind(step, kNone, Plane::shared);
  for (NodeId n : sums) {
    const ValueId v = lowering.graph.result(n);
    const auto reduction = column_reduction(lowering.graph, n, plan.reductions.size());
    plan.reductions.push_back({static_cast<int>(reduction->kind), flatten(number(0))});
    plan.results.push_back(lowering.graph.type(v).dtype);
    results.push_back(reduction->result);
    lowering.bind(step, v);
  }
  plan.program = flatten(results);
  step.plan = plan;
  return step;
}

// Whether an operand is as `access` says, or can be with another stride, which it then says.
bool lies_along(const Lowering& lowering, ValueId v, const Dim& length, RowAccess& access) {
  if (!lowering.lies_apart(v)) return true;
  const std::optional<Dim> stride = lowering.row_stride(v, access.row_scalar ? Dim(1) : length);
  if (stride && !(access.row_stride == Dim(0))) access.row_stride = *stride;
  return stride.has_value();
}

// Where the row begins: the last dimensions, of so many elements together.
size_t row_begin(const Shape& shape, const Dim& length) {
  Dim along = 1;
  size_t first = shape.size();
  while (first > 0 && !(along == length)) along = along * shape[--first];
  return first;
}

// Whether a result has one element for each row of `length` elements of `shape`, and not the rows themselves. Other
// dimensions than those of the row say nothing: open ones that are equal in every run may have other names.
bool is_one_a_row(const Shape& result, const Shape& shape, const Dim& length) {
  const auto first = static_cast<ptrdiff_t>(row_begin(shape, length));
  return result.size() != shape.size() || !std::equal(shape.begin() + first, shape.end(), result.begin() + first);
}

// What lies beside `shape`, with the row as one dimension, the last. None where it has a part of each row.
std::optional<Shape> with_one_row(const Shape& operand, const Shape& shape, const Dim& length) {
  if (operand.size() > shape.size()) return std::nullopt;
  const auto first = static_cast<ptrdiff_t>(row_begin(shape, length));
  Shape own(shape.size() - operand.size(), Dim(1));
  own.insert(own.end(), operand.begin(), operand.end());
  const bool whole = std::equal(own.begin() + first, own.end(), shape.begin() + first);
  if (!whole && !std::all_of(own.begin() + first, own.end(), [](const Dim& dim) { return dim == Dim(1); }))
    return std::nullopt;
  own.resize(static_cast<size_t>(first));
  own.push_back(whole ? length : Dim(1));
  return own;
}

Support operands_support(const Graph& graph, const Group& group) {
  for (NodeId n : group.nodes)
    for (ValueId v : graph.node(n).operands)
      if (graph.node(n).op->row && v != kNone && compute_scalar(graph.type(v).dtype) != Scalar::f32)
        return {fmt::format("rows of {}", to_string(graph.type(v).dtype))};
  return {};
}

}  // namespace

Support lower_row(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const Shape shape = lowering.shape(node.operands[0]);
  if (shape.empty()) return {"a scalar has no rows"};
  const auto run = reduced_run(node, shape);
  if (!run) return {"it reduces axes that an operand lists or that do not lie together"};
  if (!(run->inner == Dim(1))) return {"it works along an axis with others behind it"};
  if (Support r = operands_support(graph, step.group); !r.supported()) return r;
  const Shape like = *with_one_row(shape, shape, run->length);
  if (!(element_count(like) == element_count(shape))) return {"rows whose length is another formula than their sizes"};
  RowExpressions expressions(lowering, step.group);
  const std::vector<NodeId>& sums = expressions.sums();
  std::vector<ValueId> summed, results;
  for (NodeId n : sums) {
    summed.push_back(graph.result(n));
    if (!column_reduction(graph, n, 0)) return {"sums of columns whose results are not one for each column"};
  }
  for (ValueId v : step.group.results)
    if (std::ranges::find(summed, v) == summed.end()) results.push_back(v);
  if (!sums.empty() && !like.back().is_constant()) return {"sums of an open number of columns"};

  RowPlan plan;
  std::vector<Expr> roots;
  for (ValueId v : results) roots.push_back(expressions.value(v));
  for (NodeId n : sums) {
    const auto reduction = column_reduction(graph, n, 0);
    plan.sums.push_back(static_cast<int>(reduction->kind));
    const Expr element[] = {expressions.value(graph.operand(n, 0))};
    roots.push_back(substitute(reduction->element, element));
  }
  plan.reductions = expressions.reductions();
  plan.program = flatten(roots);
  plan.results = lowering.dtypes(results);
  std::vector<Extent> result_strides;
  for (ValueId v : results) {
    const bool scalar = is_one_a_row(lowering.shape(v), shape, run->length);
    const std::optional<Dim> stride = lowering.row_stride(v, scalar ? Dim(1) : like.back());
    if (!stride) return {fmt::format("rows of %{} that do not lie along those of the operands", graph.value(v).name)};
    result_strides.push_back(lowering.extent(*stride));
    using Lies = RowPlan::Lies;
    if (lowering.lies_apart(v)) plan.lies.push_back(scalar ? Lies::scalars_apart : Lies::rows_apart);
    else plan.lies.push_back(scalar ? Lies::scalars : Lies::rows);
  }
  if (std::ranges::none_of(plan.lies, is_apart)) result_strides.clear();
  // Scalar results are written last, and may read elements of the row.
  const bool only_vectors = std::ranges::none_of(plan.lies, is_scalar);
  struct Along {
    Extent row_stride, period;
  };
  std::vector<Along> along;
  for (ValueId v : expressions.operands()) {
    const std::optional<Shape> own = with_one_row(lowering.shape(v), shape, run->length);
    auto access = own ? row_access(*own, like) : std::nullopt;
    if (!access || graph.type(v).is_packed() || !lies_along(lowering, v, like.back(), *access))
      return {fmt::format("operand %{} does not lie along the rows", graph.value(v).name)};
    plan.operands.push_back({graph.type(v).dtype, access->row_scalar});
    if (only_vectors && access->row_stride == like.back() && access->period == Dim(0) && !access->row_scalar)
      step.overwritable.push_back(v);
    along.push_back({lowering.extent(access->row_stride), lowering.extent(access->period)});
    lowering.bind(step, v);
  }
  for (ValueId v : results) lowering.bind(step, v);
  step.plan = plan;
  step.lasting = true;
  if (!sums.empty()) {
    step.shared_bytes = parts_bytes(like.back().constant(), std::ssize(sums));
    StepDraft join = joining_step(lowering, step, sums);
    lowering.bind(step, kNone, Plane::shared);
    prepared.steps.push_back(std::move(join));  // `step` is no more
  }
  const Extent rows = lowering.count(Shape(like.begin(), like.end() - 1)), length = lowering.extent(like.back());
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    RowArgs args{.rows = sizes.of(rows), .length = sizes.of(length)};
    for (size_t i = 0; i < along.size(); ++i)
      args.strides[i] = sizes.of(along[i].row_stride), args.strides[plan.period_at(i)] = sizes.of(along[i].period);
    for (size_t i = 0; i < result_strides.size(); ++i) args.strides[plan.result_at(i)] = sizes.of(result_strides[i]);
    placed.set(args);
    return Support{};
  };
  return {};
}

}  // namespace hone
