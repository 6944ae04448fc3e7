#include "codegen/lower.h"

#include <algorithm>
#include <ranges>

#include "base/stop.h"
#include "codegen/kernel_sizes.h"
#include "codegen/lowering.h"
#include "ir/flops.h"
#include "ir/pointwise.h"

namespace hone {
namespace {

// Bytes that an operand or result moves; a gather touches only the rows it copies.
double bytes_of(const Graph& graph, const Step& step, ValueId v) {
  const std::vector<int64_t> shape = shape_of(graph, v);
  const double elements = static_cast<double>(element_count(shape));
  const TensorType& type = graph.type(v);
  const double each = type.is_packed()
                          ? static_cast<double>(plane_bytes(*type.format, shape).total()) / std::max(elements, 1.0)
                      : type.dtype == DType::string ? 0
                                                    : size_bytes(type.dtype);
  const bool table = step.group.kind == Codegen::gather && v == graph.node(step.group.anchor).operands[0];
  return each * (table ? static_cast<double>(element_count(shape_of(graph, graph.node(step.group.anchor).results[0])))
                       : elements);
}

}  // namespace

std::vector<int64_t> shape_of(const Graph& graph, ValueId v) { return constant_shape(graph.type(v).shape); }

int64_t rows_of(const std::vector<int64_t>& shape) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return rows;
}

const Expr& ExprBuilderForGroup::get(ValueId v) {
  if (auto found = exprs_.find(v); found != exprs_.end()) return found->second;
  const int position = first_operand_ + static_cast<int>(operands_.size());
  operands_.push_back(v);
  return exprs_.emplace(v, Expr::arg(position, compute_scalar(graph_.type(v).dtype))).first->second;
}

void ExprBuilderForGroup::apply(NodeId n) {
  const Node& node = graph_.node(n);
  std::vector<Expr> operands;
  std::vector<DType> dtypes;
  for (ValueId v : node.operands) {
    operands.push_back(v == kNone ? Expr() : get(v));
    dtypes.push_back(v == kNone ? DType::f32 : graph_.type(v).dtype);
  }
  define(node.results[0], pointwise_expr(*node.op, operands, dtypes, node.attributes));
}

Program program_of(ExprBuilderForGroup& builder, const Graph& graph, const std::vector<ValueId>& results) {
  std::vector<Expr> roots;
  for (ValueId v : results) roots.push_back(typed(compute_scalar(graph.type(v).dtype), builder.get(v)));
  return flatten(roots);
}

std::vector<DType> Lowering::dtypes(const std::vector<ValueId>& values) const {
  std::vector<DType> result;
  for (ValueId v : values) result.push_back(graph.type(v).dtype);
  return result;
}

void Lowering::bind(Step& step, ValueId v, Plane plane, int64_t offset) { step.pointers.push_back({plane, v, offset}); }

bool Lowering::in_group(const Group& group, NodeId n) const {
  return n != kNone && std::find(group.nodes.begin(), group.nodes.end(), n) != group.nodes.end();
}

std::set<NodeId> Lowering::behind_anchor(const Group& group) const {
  std::set<NodeId> behind{group.anchor};
  for (NodeId n : group.nodes)
    for (ValueId v : graph.node(n).operands)
      if (v != kNone && behind.contains(graph.producer(v))) behind.insert(n);
  return behind;
}

Refusal Lowering::fill(std::vector<Step>& steps) const {
  Step& step = steps[0];
  if (Refusal refusal = sizes_refusal(graph, step.group); !refusal.accepted()) return refusal;
  switch (step.group.kind) {
    case Codegen::pointwise:
      return pointwise(step);
    case Codegen::move:
      return move(steps);
    case Codegen::row:
      return row(step);
    case Codegen::gemm:
      return gemm(step);
    case Codegen::conv:
      return conv(step);
    case Codegen::attention:
      return attention(step);
    case Codegen::gather:
      return gather(step);
    case Codegen::window:
      return window(step);
    case Codegen::quantise:
      return quantise(steps);
    default:
      return {fmt::format("no code generation for {}", graph.node(step.group.nodes[0]).op->name)};
  }
}

void Lowering::finish(Step& step) const {
  step.name =
      graph.value(step.group.results.empty() ? graph.node(step.group.nodes[0]).results[0] : step.group.results[0]).name;
  std::set<ValueId> pointed_to, read;
  for (const PointerBinding& pointer : step.pointers) pointed_to.insert(pointer.value);
  const auto bound = [&](ValueId v) { return !step.plan || pointed_to.contains(v); };
  for (NodeId n : step.group.nodes) {
    step.flops += node_flops(graph, n);
    for (ValueId v : graph.node(n).operands)
      if (v != kNone && !in_group(step.group, graph.producer(v)) && bound(v) && read.insert(v).second)
        step.reads.push_back(v);
  }
  step.writes = step.plan ? step.group.results : graph.node(step.group.nodes[0]).results;
  std::erase_if(step.writes, [&](ValueId v) { return !bound(v); });
  if (step.bytes > 0) return;
  for (ValueId v : step.reads) {
    const double bytes = bytes_of(graph, step, v);
    step.bytes += bytes;
    if (graph.constant(v)) step.weight_bytes += bytes;
  }
  for (ValueId v : step.writes) step.bytes += bytes_of(graph, step, v);
}

LoweredGraph lower(const Graph& graph, const LowerOptions& options) {
  check_sizes(graph);
  LoweredGraph lowered;
  lowered.alias_of.resize(graph.value_capacity());
  for (size_t v = 0; v < lowered.alias_of.size(); ++v) lowered.alias_of[v] = static_cast<ValueId>(v);
  Lowering lowering{graph, options.target, options.exact};
  auto interpret = [&](NodeId n, const std::string& why) {
    Step step;
    step.group = {.kind = Codegen::none, .anchor = n, .nodes = {n}, .results = graph.node(n).results};
    step.why_interpreted = why;
    lowering.finish(step);
    lowered.steps.push_back(std::move(step));
  };
  auto compile = [&](const Group& group) {
    std::vector<Step> steps(1);
    steps[0].group = group;
    Refusal refusal = lowering.fill(steps);
    for (const Step& step : steps)
      if (refusal.accepted()) refusal = supports(*step.plan, options.target);
    if (!refusal.accepted()) return refusal;
    for (Step& step : steps) {
      lowering.finish(step);
      lowered.steps.push_back(std::move(step));
    }
    return refusal;
  };
  for (const Group& group : fuse(graph, options.fuse)) {
    check_stop();
    if (group.results.empty()) continue;  // dead code
    if (group.kind == Codegen::view) {
      const Node& node = graph.node(group.anchor);
      if (element_count(shape_of(graph, node.operands[0])) != element_count(shape_of(graph, node.results[0])))
        fail("%{} {} is a view of %{} {}, which has another number of elements", graph.value(node.results[0]).name,
             to_string(graph.type(node.results[0])), graph.value(node.operands[0]).name,
             to_string(graph.type(node.operands[0])));
      lowered.alias_of[static_cast<size_t>(node.results[0])] = lowered.alias_of[static_cast<size_t>(node.operands[0])];
      continue;
    }
    const Refusal refusal = compile(group);
    if (refusal.accepted()) continue;
    const size_t first = lowered.steps.size();
    for (NodeId n : group.nodes) {
      const Codegen kind = n == group.anchor ? group.kind : Codegen::pointwise;
      const NodeId anchor = n == group.anchor ? n : kNone;
      const Refusal alone = group.nodes.size() == 1 ? refusal : compile({kind, anchor, {n}, graph.node(n).results});
      if (!alone.accepted()) interpret(n, alone.why);
    }
    for (size_t s = first; group.nodes.size() > 1 && s < lowered.steps.size(); ++s)
      lowered.steps[s].refused.push_back(fmt::format("as one {}: {}", to_string(graph, group), refusal.why));
  }
  return lowered;
}

}  // namespace hone
