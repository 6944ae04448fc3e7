// Matrix products.
#include "codegen/kernels/gemm/shape.h"
#include "codegen/lowering.h"
#include "codegen/shapes.h"
#include "ops/calls.h"

namespace hone {
namespace {

// One batch: all leading dimensions are rows. More: the leading dimensions, broadcast, must be two loops at most.
struct Batches {
  std::vector<Extent> extents;                 // of the loops
  std::array<std::vector<Extent>, 3> strides;  // of A, W and the result, along them
};

std::optional<Batches> batches_of(const Lowering& lowering, const Shape& a, const Shape& w, const Shape& out) {
  const Shape lead(out.begin(), out.end() - 2);
  std::vector<Shape> strides;
  for (const Shape* shape : {&a, &w, &out}) {
    const Dim matrix = (*shape)[shape->size() - 2] * shape->back();
    std::optional<Shape> own = broadcast_strides({shape->begin(), shape->end() - 2}, lead);
    if (!own) return std::nullopt;
    for (Dim& stride : *own) stride = stride * matrix;
    strides.push_back(std::move(*own));
  }
  const CollapsedLoops loops = collapse(lead, strides);
  if (loops.extents.size() > 2) return std::nullopt;
  Batches batches;
  for (const Dim& extent : loops.extents) batches.extents.push_back(lowering.extent(extent));
  for (size_t i = 0; i < 3; ++i)
    for (const Dim& stride : loops.strides[i]) batches.strides[i].push_back(lowering.extent(stride));
  return batches;
}

void write_batches(const Batches& batches, const RunSizes& sizes, KernelDims& d) {
  d[1] = 1;
  for (Extent extent : batches.extents) d[1] *= sizes.of(extent);
  const bool two = batches.extents.size() == 2;
  if (two) d[7] = sizes.of(batches.extents[1]);
  for (size_t i = 0; i < 3; ++i) {
    d[2 + i] = sizes.of(batches.strides[i][0]);
    if (two) d[8 + i] = sizes.of(batches.strides[i][1]);
  }
}

int64_t constant_or_zero(const Dim& dim) { return dim.is_constant() ? dim.constant() : 0; }

// The weights of a product: a constant laid out for it, or an activation [n,k] (`transposed`) or [k,n].
Support choose_weights(const Lowering& lowering, GemmPlan& plan, ValueId w, bool transposed) {
  const Graph& graph = lowering.graph;
  const Tensor* constant = lowering.constant(w);
  if (!lowering.sizes && graph.value(w).label.starts_with(kKnownInput)) return {"weights that follow from the sizes"};
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

}  // namespace

Support lower_gemm(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const bool is_linear = node.op == &linear_def;
  const ValueId a = node.operands[0], w = node.operands[1];
  const Shape a_shape = lowering.shape(a), w_shape = lowering.shape(w), out = lowering.shape(node.results[0]);
  GemmPlan plan;
  plan.a = graph.type(a).dtype;
  if (plan.a != DType::f32 && plan.a != DType::bf16) return {fmt::format("activations of {}", to_string(plan.a))};
  if (graph.type(a).is_packed()) return {"the left operand is a packed constant"};
  if (a_shape.size() < 2 && !is_linear) return {"a vector operand"};
  if (node.attributes.get_or<int64_t>("transpose_a", 0) != 0) return {"a transposed left operand"};
  const bool transposed = is_linear || node.attributes.get_or<int64_t>("transpose_b", 0) != 0;
  if (w_shape.size() < 2) return {"a vector operand"};
  const Dim k = a_shape.back(), n = transposed ? w_shape[w_shape.size() - 2] : w_shape.back();
  plan.k = constant_or_zero(k), plan.n = constant_or_zero(n);
  if (Support r = choose_weights(lowering, plan, w, transposed); !r.supported()) return r;
  const bool is_packed_once = plan.weights == GemmPlan::Weights::prepacked;
  if (is_packed_once && (plan.n == 0 || plan.k == 0))
    return {"a product with laid out weights and sizes that are open"};
  std::optional<Batches> batches;
  bool batched = false;
  if (w_shape.size() > 2) {
    batches = batches_of(lowering, a_shape, w_shape, out);
    if (!batches) return {"batches that are broadcast along several dimensions"};
    for (Extent extent : batches->extents) batched |= !extent.is_constant() || extent.number != 1;
  }
  plan.a_row_stride = plan.k;
  lowering.bind(step, a);
  lowering.bind(step, w, is_packed_once ? Plane::prepacked : Plane::data);
  const ValueId bias = node.operands.size() > 2 ? node.operands[2] : kNone;
  if (Support r = lowering.epilogue(step, plan, Expr::arg(0, Scalar::f32), 1, bias, batched); !r.supported()) return r;
  const Shape rows(a_shape.begin() + (batches ? std::ssize(a_shape) - 2 : 0), a_shape.end() - 1);
  const Extent m = lowering.count(rows), n_extent = lowering.extent(n), k_extent = lowering.extent(k);
  const bool by_rows = plan.weights == GemmPlan::Weights::activation_kn;
  const auto fill = [=](const RunSizes& sizes, StepCall& placed) {
    auto& d = placed.dims;
    d[0] = sizes.of(m), d[1] = 1, d[7] = 1;
    d[kGemmN] = sizes.of(n_extent), d[kGemmK] = sizes.of(k_extent);
    d[5] = d[kGemmK], d[6] = by_rows ? d[kGemmN] : d[kGemmK];
    if (batches) write_batches(*batches, sizes, d);
  };
  // Codes are decoded elsewhere for a few rows: two kernels, since seldom are both needed.
  const bool two = !plan.w_format.empty();
  prepared.place = [=, target = lowering.target, plans = PlanVariants<bool>()](const RunSizes& sizes,
                                                                               StepCall& placed) mutable {
    fill(sizes, placed);
    const bool few = two && placed.dims[0] <= kFewRows;
    return plans.choose(few, target, placed, [&] {
      GemmPlan chosen = plan;
      if (m.is_constant()) chosen.rows = only_rows(plan, target, m.number);
      else if (two) chosen.rows = few ? GemmPlan::Rows{.most = kFewRows} : GemmPlan::Rows{.least = kFewRows + 1};
      return KernelPlan(chosen);
    });
  };
  return {};
}

}  // namespace hone
