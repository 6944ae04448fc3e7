// One function per kind of group. Each either fills the step's plan, pointers and dims, or says why there is no kernel
// for it; then the group is taken apart: nodes that have no kernel alone either are interpreted.
#include "codegen/lower.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "codegen/compiler.h"
#include "codegen/gemm_shape.h"
#include "codegen/shapes.h"
#include "ir/flops.h"
#include "ir/pointwise.h"

namespace hone {
namespace {

using Plane = PointerBinding::Plane;

std::vector<int64_t> shape_of(const Graph& graph, ValueId v) { return constant_shape(graph.type(v).shape); }

int64_t rows_of(const std::vector<int64_t>& shape) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return rows;
}

// Builds one expression per value of a group, numbering the values read from outside as it meets them.
class ExprBuilderForGroup {
 public:
  ExprBuilderForGroup(const Graph& graph, int first_operand) : graph_(graph), first_operand_(first_operand) {}

  void define(ValueId v, Expr e) { exprs_.insert_or_assign(v, std::move(e)); }

  const Expr& get(ValueId v) {
    if (auto found = exprs_.find(v); found != exprs_.end()) return found->second;
    const int position = first_operand_ + static_cast<int>(operands_.size());
    operands_.push_back(v);
    return exprs_.emplace(v, Expr::arg(position, compute_scalar(graph_.type(v).dtype))).first->second;
  }

  void apply(NodeId n) {
    const Node& node = graph_.node(n);
    std::vector<Expr> operands;
    std::vector<DType> dtypes;
    for (ValueId v : node.operands) {
      operands.push_back(v == kNone ? Expr() : get(v));
      dtypes.push_back(v == kNone ? DType::f32 : graph_.type(v).dtype);
    }
    define(node.results[0], pointwise_expr(*node.op, operands, dtypes, node.attributes));
  }

  const std::vector<ValueId>& operands() const { return operands_; }

 private:
  const Graph& graph_;
  int first_operand_;
  std::map<ValueId, Expr> exprs_;
  std::vector<ValueId> operands_;
};

Program program_of(ExprBuilderForGroup& builder, const Graph& graph, const std::vector<ValueId>& results) {
  std::vector<Expr> roots;
  for (ValueId v : results) roots.push_back(typed(compute_scalar(graph.type(v).dtype), builder.get(v)));
  return flatten(roots);
}

struct Lowering {
  const Graph& graph;
  IsaLevel isa;

  std::vector<DType> dtypes(const std::vector<ValueId>& values) const {
    std::vector<DType> result;
    for (ValueId v : values) result.push_back(graph.type(v).dtype);
    return result;
  }

  static void bind(Step& step, ValueId v, Plane plane = Plane::data, int64_t offset = 0) {
    step.pointers.push_back({plane, v, offset});
  }

  Refusal pointwise(Step& step) {
    for (NodeId n : step.group.nodes)
      if (!is_compilable(graph, graph.node(n))) return {"an operand's element type has no vector load or store"};
    ExprBuilderForGroup builder(graph, 0);
    for (NodeId n : step.group.nodes) builder.apply(n);
    PointwisePlan plan;
    plan.program = program_of(builder, graph, step.group.results);
    std::vector<std::vector<int64_t>> strides;
    const std::vector<int64_t> result = shape_of(graph, step.group.results[0]);
    for (ValueId v : builder.operands()) strides.push_back(broadcast_strides(shape_of(graph, v), result));
    return elementwise(step, plan, result, builder.operands(), strides, std::vector<int64_t>(strides.size(), 0));
  }

  // transpose, expand and slice copy elements: the identity program over permuted, zero or scaled strides.
  Refusal move(Step& step) {
    const Node& node = graph.node(step.group.anchor);
    const std::string_view op = node.op->name;
    const ValueId src = node.operands[0];
    if (!is_compilable(graph, node)) return {"an operand's element type has no vector load or store"};
    const std::vector<int64_t> in = shape_of(graph, src), out = shape_of(graph, node.results[0]);
    const std::vector<int64_t> own = dense_strides(in);
    std::vector<int64_t> strides(out.size());
    int64_t offset = 0;
    if (op == "transpose") {
      const auto perm = node.attributes.get_or<std::vector<int64_t>>("perm", {});
      for (size_t i = 0; i < out.size(); ++i)
        strides[i] =
            own[perm.empty() ? out.size() - 1 - i
                             : static_cast<size_t>(perm[i] < 0 ? perm[i] + static_cast<int64_t>(in.size()) : perm[i])];
    } else if (op == "expand") {
      strides = broadcast_strides(in, out);
    } else if (op == "slice") {
      strides = own;
      const std::vector<int64_t> starts = constant_shape(node.attributes.get<Shape>("starts"));
      const auto axes = node.attributes.get_or<std::vector<int64_t>>("axes", {}),
                 steps = node.attributes.get_or<std::vector<int64_t>>("steps", {});
      for (size_t i = 0; i < starts.size(); ++i) {
        const int64_t axis = axes.empty() ? static_cast<int64_t>(i) : axes[i];
        const auto a = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(in.size()) : axis);
        offset += (starts[i] < 0 ? starts[i] + in[a] : starts[i]) * own[a];
        if (!steps.empty()) strides[a] *= steps[i];
      }
    } else {
      return {fmt::format("no kernel moves the elements of {}", op)};
    }
    PointwisePlan plan;
    plan.program = flatten(Expr::arg(0, compute_scalar(graph.type(src).dtype)));
    return elementwise(step, plan, out, {src}, {strides}, {offset});
  }

  Refusal elementwise(Step& step, PointwisePlan& plan, const std::vector<int64_t>& result,
                      const std::vector<ValueId>& operands, const std::vector<std::vector<int64_t>>& operand_strides,
                      const std::vector<int64_t>& offsets) {
    const CollapsedLoops loops = collapse(result, operand_strides);
    plan.rank = static_cast<int>(loops.extents.size());
    if (plan.rank > 6) return {"more than six dimensions that don't merge"};
    plan.results = dtypes(step.group.results);
    size_t d = 0;
    for (int64_t extent : loops.extents) step.dims[d++] = extent;
    for (size_t o = 0; o < operands.size(); ++o) {
      using Inner = PointwisePlan::Inner;
      const int64_t inner = loops.strides[o].back();
      plan.operands.push_back({graph.type(operands[o]).dtype, inner == 0   ? Inner::broadcast
                                                              : inner == 1 ? Inner::contiguous
                                                                           : Inner::strided});
      for (int64_t stride : loops.strides[o]) step.dims[d++] = stride;
      const int64_t bytes = offsets[o] == 0 ? 0 : offsets[o] * size_bytes(graph.type(operands[o]).dtype);
      bind(step, operands[o], Plane::data, bytes);
    }
    for (ValueId v : step.group.results) bind(step, v);
    step.plan = plan;
    return {};
  }

  Refusal row(Step& step) {
    const Node& node = graph.node(step.group.anchor);
    const std::vector<int64_t> like = shape_of(graph, node.operands[0]);
    if (!node.op->row) return {"the op has no row rule"};
    if (like.empty()) return {"a scalar has no rows"};
    if (!reduces_last_axis(node, like.size())) return {"it reduces another axis than the last"};
    for (ValueId v : node.operands)
      if (v != kNone && compute_scalar(graph.type(v).dtype) != Scalar::f32)
        return {fmt::format("rows of {}", to_string(graph.type(v).dtype))};
    ExprBuilderForGroup builder(graph, 0);
    bool after_anchor = false;
    std::vector<NodeId> before, after;
    for (NodeId n : step.group.nodes) {
      if (n == step.group.anchor) after_anchor = true;
      else (depends_on_anchor(step.group, n) ? after : before).push_back(n);
    }
    CHECK(after_anchor);
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
        if (!in_group(step.group, graph.producer(v))) builder.get(v);
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
    plan.results = dtypes(step.group.results);
    for (ValueId v : step.group.results)
      plan.scalar_results.push_back(graph.type(v).shape != graph.type(node.operands[0]).shape);
    plan.max_length = like.back();
    step.dims[0] = rows_of(like);
    step.dims[1] = like.back();
    for (size_t i = 0; i < operands.size(); ++i) {
      const ValueId v = operands[i];
      const auto access = row_access(shape_of(graph, v), like);
      if (!access || graph.type(v).is_packed())
        return {fmt::format("operand %{} does not lie along the rows", graph.value(v).name)};
      plan.operands.push_back({graph.type(v).dtype, access->row_scalar});
      step.dims[2 + i] = access->row_stride;
      step.dims[2 + operands.size() + i] = access->period;
      bind(step, v);
    }
    for (ValueId v : step.group.results) bind(step, v);
    step.plan = plan;
    return {};
  }

  static bool reduces_last_axis(const Node& node, size_t rank) {
    const auto last = static_cast<int64_t>(rank) - 1;
    if (node.attributes.has("axes")) {
      const auto& axes = node.attributes.get<std::vector<int64_t>>("axes");
      return axes.size() == 1 && (axes[0] == -1 || axes[0] == last);
    }
    if (std::string_view(node.op->name).starts_with("reduce_")) return rank == 1;
    const int64_t axis = node.attributes.get_or<int64_t>("axis", -1);
    return axis == -1 || axis == last;
  }

  bool in_group(const Group& group, NodeId n) const {
    return n != kNone && std::find(group.nodes.begin(), group.nodes.end(), n) != group.nodes.end();
  }

  bool depends_on_anchor(const Group& group, NodeId n) const {
    if (n == group.anchor) return true;
    for (ValueId v : graph.node(n).operands)
      if (v != kNone && in_group(group, graph.producer(v)) && depends_on_anchor(group, graph.producer(v))) return true;
    return false;
  }

  Refusal gemm(Step& step) {
    const Node& node = graph.node(step.group.anchor);
    const bool is_linear = std::string_view(node.op->name) == "linear";
    if (!is_linear && std::string_view(node.op->name) != "matmul")
      return {fmt::format("no generator for {}", node.op->name)};
    const ValueId a = node.operands[0], w = node.operands[1];
    const std::vector<int64_t> a_shape = shape_of(graph, a), w_shape = shape_of(graph, w),
                               out = shape_of(graph, node.results[0]);
    GemmPlan plan;
    plan.a = graph.type(a).dtype;
    if (plan.a != DType::f32 && plan.a != DType::bf16) return {fmt::format("activations of {}", to_string(plan.a))};
    if (graph.type(a).is_packed()) return {"the left operand is a packed constant"};
    if (a_shape.size() < 2 && !is_linear) return {"a vector operand"};
    const Tensor* constant = graph.constant(w);
    const bool transposed = is_linear || node.attributes.get_or<int64_t>("transpose_b", 0) != 0;
    if (w_shape.size() < 2) return {"a vector operand"};
    plan.k = a_shape.back();
    plan.n = transposed ? w_shape[w_shape.size() - 2] : w_shape.back();
    if (constant && transposed && w_shape.size() == 2) {
      plan.weights = GemmPlan::Weights::prepacked;
      if (constant->is_packed()) plan.w_format = to_string(*constant->format());
      else plan.w = constant->dtype();
    } else {
      if (graph.type(w).is_packed()) return {"packed weights that are not [out, in]"};
      plan.weights = transposed ? GemmPlan::Weights::activation_nk : GemmPlan::Weights::activation_kn;
      plan.w = graph.type(w).dtype;
      if (plan.w != plan.a) return {fmt::format("operands of {} and {}", to_string(plan.a), to_string(plan.w))};
    }
    if (plan.w_format.empty() && plan.w != DType::f32 && plan.w != DType::bf16)
      return {fmt::format("weights of {}", to_string(plan.w))};
    if (Refusal r = batches(step, plan, a_shape, w_shape, out); !r.accepted()) return r;
    hint_rows(plan, step.dims[0]);

    ExprBuilderForGroup builder(graph, 1);
    Expr sum = Expr::arg(0, Scalar::f32);
    if (node.operands.size() > 2 && node.operands[2] != kNone) sum = sum + builder.get(node.operands[2]);
    builder.define(node.results[0], sum);
    for (NodeId n : step.group.nodes)
      if (n != step.group.anchor) builder.apply(n);
    plan.program = program_of(builder, graph, step.group.results);
    plan.results = dtypes(step.group.results);
    bind(step, a);
    bind(step, w, plan.weights == GemmPlan::Weights::prepacked ? Plane::prepacked : Plane::data);
    for (ValueId v : builder.operands()) {
      const auto access = gemm_access(shape_of(graph, v), out);
      if (!access) return {fmt::format("operand %{} does not lie along the result", graph.value(v).name)};
      if (step.dims[1] > 1 && *access == GemmPlan::Access::row) return {"a per-row operand of a batched product"};
      plan.operands.push_back({graph.type(v).dtype, *access});
      bind(step, v);
    }
    for (ValueId v : step.group.results) bind(step, v);
    step.plan = plan;
    return {};
  }

  // Row counts that are multiples of 8 share one kernel; others, and few rows, get a tile of their own.
  void hint_rows(GemmPlan& plan, int64_t m) {
    plan.a_row_stride = plan.k;
    plan.m_hint = m > 16 && m % 8 == 0 ? 0 : m;
    const int64_t remainder = m % gemm_tile_rows(plan, isa);
    plan.m_remainder = plan.m_hint > 0 || remainder == 0 ? remainder : -1;
  }

  // One batch: all leading dimensions are rows. More: both operands have the same leading dimensions, or W has none.
  Refusal batches(Step& step, GemmPlan& plan, const std::vector<int64_t>& a, const std::vector<int64_t>& w,
                  const std::vector<int64_t>& out) {
    auto& d = step.dims;
    if (w.size() == 2) {
      d[0] = rows_of(a);
      d[1] = 1;
    } else {
      const std::vector<int64_t> a_lead(a.begin(), a.end() - 2), w_lead(w.begin(), w.end() - 2),
          o_lead(out.begin(), out.end() - 2);
      if (a_lead != w_lead || a_lead != o_lead) return {"broadcast batches"};
      d[0] = a[a.size() - 2];
      d[1] = 1;
      for (int64_t n : a_lead) d[1] *= n;
    }
    d[2] = d[0] * plan.k;
    d[3] = w.size() == 2 ? 0 : plan.n * plan.k;
    d[4] = d[0] * plan.n;
    d[5] = plan.k;
    d[6] = plan.weights == GemmPlan::Weights::activation_kn ? plan.n : plan.k;
    d[7] = 1;
    return {};
  }

  Refusal attention(Step& step) {
    const Node& node = graph.node(step.group.anchor);
    const std::vector<int64_t> q = shape_of(graph, node.operands[0]), k = shape_of(graph, node.operands[1]),
                               v = shape_of(graph, node.operands[2]);
    AttentionPlan plan;
    plan.heads = static_cast<int>(node.attributes.get<int64_t>("heads"));
    plan.kv_heads = static_cast<int>(node.attributes.get_or<int64_t>("kv_heads", plan.heads));
    plan.head_dim = static_cast<int>(q[2] / plan.heads);
    plan.causal = node.attributes.get_or<int64_t>("causal", 0) != 0;
    plan.scale =
        static_cast<float>(node.attributes.get_or<double>("scale", 1 / std::sqrt(static_cast<double>(plan.head_dim))));
    plan.dtype = graph.type(node.operands[0]).dtype;
    for (int i = 1; i < 3; ++i)
      if (graph.type(node.operands[static_cast<size_t>(i)]).dtype != plan.dtype)
        return {"q, k and v of different element types"};
    if (plan.dtype != DType::f32 && plan.dtype != DType::bf16)
      return {fmt::format("operands of {}", to_string(plan.dtype))};
    if (v[2] != k[2]) return {"values of another width than the keys"};
    if (step.group.results.size() != 1) return {"several results"};
    plan.result = graph.type(step.group.results[0]).dtype;
    for (plan.max_length = 128; plan.max_length < k[1];) plan.max_length *= 2;  // lengths of one range share a kernel
    auto& d = step.dims;
    d[0] = q[0], d[1] = q[1], d[2] = k[1], d[3] = q[2], d[4] = k[2], d[5] = v[2], d[6] = q[2];
    for (int i = 0; i < 3; ++i) bind(step, node.operands[static_cast<size_t>(i)]);
    if (node.operands.size() > 3 && node.operands[3] != kNone) {
      const ValueId mask = node.operands[3];
      if (graph.type(mask).dtype != DType::f32) return {"a mask that is not f32"};
      const std::vector<int64_t> full{q[0], plan.heads, q[1], k[1]}, m = shape_of(graph, mask);
      if (m.size() > 4 || m.empty() || m.back() != k[1]) return {"a mask without the key dimension"};
      const std::vector<int64_t> strides = broadcast_strides(m, full);
      d[7] = strides[0], d[8] = strides[1], d[9] = strides[2];
      plan.has_mask = true;
      bind(step, mask);
    } else {
      bind(step, kNone, Plane::none);
    }
    bind(step, step.group.results[0]);
    step.plan = plan;
    return {};
  }

  Refusal gather(Step& step) {
    const Node& node = graph.node(step.group.anchor);
    const ValueId table = node.operands[0], ids = node.operands[1];
    const TensorType& type = graph.type(table);
    if (node.attributes.get_or<int64_t>("axis", 0) != 0) return {"it gathers along another axis than the first"};
    const std::vector<int64_t> shape = shape_of(graph, table);
    if (shape.empty()) return {"a scalar table"};
    GatherPlan plan;
    plan.columns = 1;
    for (size_t i = 1; i < shape.size(); ++i) plan.columns *= shape[i];
    plan.table = type.dtype;
    if (type.is_packed()) {
      if (shape.size() != 2) return {"a packed table that is not [rows, columns]"};
      plan.table_format = to_string(*type.format);
    }
    plan.ids = graph.type(ids).dtype;
    plan.result = graph.type(node.results[0]).dtype;
    if (plan.ids != DType::i64 && plan.ids != DType::i32) return {fmt::format("indices of {}", to_string(plan.ids))};
    step.dims[0] = 1;
    for (int64_t n : shape_of(graph, ids)) step.dims[0] *= n;
    step.dims[1] = shape[0];
    bind(step, table);
    bind(step, table, type.is_packed() ? Plane::scales : Plane::none);
    bind(step, ids);
    bind(step, node.results[0]);
    step.plan = plan;
    return {};
  }

  Refusal fill(Step& step) {
    switch (step.group.kind) {
      case Codegen::pointwise:
        return pointwise(step);
      case Codegen::move:
        return move(step);
      case Codegen::row:
        return row(step);
      case Codegen::gemm:
        return gemm(step);
      case Codegen::attention:
        return attention(step);
      case Codegen::gather:
        return gather(step);
      default:
        return {fmt::format("no code generation for {}", graph.node(step.group.nodes[0]).op->name)};
    }
  }

  // Bytes that an operand or result moves; a gather touches only the rows it copies.
  double bytes_of(const Step& step, ValueId v) const {
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

  void finish(Step& step) {
    step.name =
        graph.value(step.group.results.empty() ? graph.node(step.group.nodes[0]).results[0] : step.group.results[0])
            .name;
    for (NodeId n : step.group.nodes) {
      step.flops += node_flops(graph, n);
      for (ValueId v : graph.node(n).operands)
        if (v != kNone && !in_group(step.group, graph.producer(v)) &&
            std::find(step.reads.begin(), step.reads.end(), v) == step.reads.end())
          step.reads.push_back(v);
    }
    step.writes = step.plan ? step.group.results : graph.node(step.group.nodes[0]).results;
    for (ValueId v : step.reads) step.bytes += bytes_of(step, v);
    for (ValueId v : step.writes) step.bytes += bytes_of(step, v);
  }
};

}  // namespace

LoweredGraph lower(const Graph& graph, IsaLevel isa) {
  LoweredGraph lowered;
  lowered.alias_of.resize(graph.value_capacity());
  for (size_t v = 0; v < lowered.alias_of.size(); ++v) lowered.alias_of[v] = static_cast<ValueId>(v);
  Lowering lowering{graph, isa};
  auto interpret = [&](NodeId n, const std::string& why) {
    Step step;
    step.group = {.kind = Codegen::none, .anchor = n, .nodes = {n}, .results = graph.node(n).results};
    step.why_interpreted = why;
    lowering.finish(step);
    lowered.steps.push_back(std::move(step));
  };
  auto compile = [&](const Group& group) {
    Step step;
    step.group = group;
    Refusal refusal = lowering.fill(step);
    if (refusal.accepted()) refusal = supports(*step.plan, isa);
    if (!refusal.accepted()) return refusal;
    lowering.finish(step);
    lowered.steps.push_back(std::move(step));
    return refusal;
  };
  for (const Group& group : fuse(graph)) {
    if (group.results.empty()) continue;  // dead code
    if (group.kind == Codegen::view) {
      const Node& node = graph.node(group.anchor);
      lowered.alias_of[static_cast<size_t>(node.results[0])] = lowered.alias_of[static_cast<size_t>(node.operands[0])];
      continue;
    }
    const Refusal refusal = compile(group);
    if (refusal.accepted()) continue;
    for (NodeId n : group.nodes) {
      const Codegen kind = n == group.anchor ? group.kind : Codegen::pointwise;
      const NodeId anchor = n == group.anchor ? n : kNone;
      const Refusal alone = group.nodes.size() == 1 ? refusal : compile({kind, anchor, {n}, graph.node(n).results});
      if (!alone.accepted()) interpret(n, alone.why);
    }
  }
  return lowered;
}

}  // namespace hone
