// Matrix products.
#include "codegen/lowering.h"

#include "codegen/kernels/gemm/shape.h"
#include "codegen/shapes.h"

namespace hone {
namespace {

// One batch: all leading dimensions are rows. More: the leading dimensions, broadcast, must be two loops at most.
Refusal batches(Step& step, const GemmPlan& plan, const std::vector<int64_t>& a, const std::vector<int64_t>& w,
                const std::vector<int64_t>& out) {
  auto& d = step.dims;
  d[0] = w.size() == 2 ? rows_of(a) : a[a.size() - 2];
  d[1] = 1;
  d[5] = plan.k;
  d[6] = plan.weights == GemmPlan::Weights::activation_kn ? plan.n : plan.k;
  d[7] = 1;
  if (w.size() == 2) return {};
  const std::vector<int64_t> lead(out.begin(), out.end() - 2);
  const auto strides = [&](const std::vector<int64_t>& shape, int64_t matrix) {
    std::vector<int64_t> result = broadcast_strides({shape.begin(), shape.end() - 2}, lead);
    for (int64_t& stride : result) stride *= matrix;
    return result;
  };
  const CollapsedLoops loops =
      collapse(lead, {strides(a, d[0] * plan.k), strides(w, plan.n * plan.k), strides(out, d[0] * plan.n)});
  if (loops.extents.size() > 2) return {"batches that are broadcast along several dimensions"};
  const size_t last = loops.extents.size() - 1;
  for (int64_t extent : loops.extents) d[1] *= extent;
  if (last == 1) d[7] = loops.extents[1];
  for (size_t i = 0; i < 3; ++i) {
    d[2 + i] = loops.strides[i][0];
    if (last == 1) d[8 + i] = loops.strides[i][1];
  }
  return {};
}

}  // namespace

Refusal Lowering::gemm(Step& step) const {
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
  const bool transposed = is_linear || node.attributes.get_or<int64_t>("transpose_b", 0) != 0;
  if (w_shape.size() < 2) return {"a vector operand"};
  plan.k = a_shape.back();
  plan.n = transposed ? w_shape[w_shape.size() - 2] : w_shape.back();
  if (Refusal r = weights(plan, w, transposed); !r.accepted()) return r;
  if (Refusal r = batches(step, plan, a_shape, w_shape, out); !r.accepted()) return r;
  plan.a_row_stride = plan.k;
  plan.rows = only_rows(plan, target, step.dims[0]);

  bind(step, a);
  bind(step, w, plan.weights == GemmPlan::Weights::prepacked ? Plane::prepacked : Plane::data);
  const ValueId bias = node.operands.size() > 2 ? node.operands[2] : kNone;
  if (Refusal r = epilogue(step, plan, Expr::arg(0, Scalar::f32), 1, bias, step.dims[1] > 1); !r.accepted()) return r;
  step.plan = plan;
  return {};
}

Refusal Lowering::weights(GemmPlan& plan, ValueId w, bool transposed) const {
  const Tensor* constant = graph.constant(w);
  if (constant && transposed && graph.type(w).rank() == 2) {
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
  return {};
}

Refusal Lowering::epilogue(Step& step, Epilogue& plan, Expr sum, int first_operand, ValueId bias, bool batched) const {
  const ValueId result = graph.result(step.group.anchor);
  ExprBuilderForGroup builder(graph, first_operand);
  if (bias != kNone) sum = sum + builder.get(bias);
  builder.define(result, sum);
  for (NodeId n : step.group.nodes)
    if (n != step.group.anchor) builder.apply(n);
  plan.program = program_of(builder, graph, step.group.results);
  plan.results = dtypes(step.group.results);
  for (ValueId v : builder.operands()) {
    const auto access = gemm_access(shape_of(graph, v), shape_of(graph, result));
    if (!access) return {fmt::format("operand %{} does not lie along the result", graph.value(v).name)};
    if (batched && *access == Epilogue::Access::row) return {"a per-row operand of a batched product"};
    plan.operands.push_back({graph.type(v).dtype, *access});
    if (*access == GemmPlan::Access::full) step.overwritable.push_back(v);
    bind(step, v);
  }
  for (ValueId v : step.group.results) bind(step, v);
  return {};
}

}  // namespace hone
