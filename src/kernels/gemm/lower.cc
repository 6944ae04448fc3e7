// Matrix products.
#include "kernels/gemm/plan.h"
#include "kernels/lowering.h"
#include "kernels/pointwise/moves.h"
#include "kernels/shapes.h"
#include "ops/calls/expand.h"
#include "ops/calls/linear.h"
#include "ops/calls/transpose.h"

namespace hone {
namespace {

// The matrices of an operand: shape and strides of all dimensions, the last two of which are a matrix. Of a transpose,
// and of an expand that only repeats matrices, where its source has them.
struct Matrices {
  ValueId value;
  Shape shape, strides;

  const Dim& stride(size_t from_last) const { return strides[strides.size() - from_last]; }
  const Dim& extent(size_t from_last) const { return shape[shape.size() - from_last]; }
  bool lie_in_runs() const { return stride(1) == Dim(1) || (shape.size() > 1 && stride(2) == Dim(1)); }
};

Matrices matrices_of(const Lowering& lowering, ValueId v) {
  const Graph& graph = lowering.graph;
  const Shape shape = lowering.shape(v);
  const NodeId producer = graph.producer(v);
  if (producer != kNone && graph.node(producer).op == &transpose_def && !is_copy(graph, producer)) {
    Matrices turned{graph.operand(producer, 0), shape, transposed_strides(lowering, graph.node(producer))};
    const bool has_rows = lowering.strides(turned.value).back() == Dim(1);  // as those of dense ones do
    if (!graph.type(turned.value).is_packed() && has_rows && turned.lie_in_runs()) return turned;
  }
  if (producer != kNone && graph.node(producer).op == &expand_def) {
    const Matrices once = matrices_of(lowering, graph.operand(producer, 0));
    const auto strides = once.shape.size() < 2 ? std::nullopt : broadcast_strides(once.shape, once.strides, shape);
    if (strides && once.extent(1) == shape.back() && once.extent(2) == shape[shape.size() - 2])
      return {once.value, shape, *strides};
  }
  return {v, shape, lowering.strides(v)};
}

// More than one product: the leading dimensions, broadcast, as loops, neighbours that lie alike as one.
struct Batches {
  std::vector<Extent> extents;                 // of the loops
  std::array<std::vector<Extent>, 3> strides;  // of A, W and the result, along them
};

std::optional<Batches> batches_of(const Lowering& lowering, const Matrices& a, const Matrices& w,
                                  const Matrices& result) {
  const Shape lead(result.shape.begin(), result.shape.end() - 2);
  std::vector<Shape> strides;
  for (const Matrices* each : {&a, &w, &result}) {
    Shape& own = strides.emplace_back(lead.size(), 0);
    const size_t missing = lead.size() + 2 - each->shape.size();
    for (size_t i = 0; i + 2 < each->shape.size(); ++i) {
      if (each->shape[i] == Dim(1)) continue;
      if (!(each->shape[i] == lead[missing + i])) return std::nullopt;
      own[missing + i] = each->strides[i];
    }
  }
  const CollapsedLoops loops = collapse(lead, strides);
  if (loops.extents.size() > kMostBatchLoops) return std::nullopt;
  Batches batches;
  for (const Dim& extent : loops.extents) batches.extents.push_back(lowering.extent(extent));
  for (size_t i = 0; i < 3; ++i)
    for (const Dim& stride : loops.strides[i]) batches.strides[i].push_back(lowering.extent(stride));
  return batches;
}

void write_batches(const Batches& batches, const RunSizes& sizes, GemmArgs& args) {
  args.batches = 1;
  for (Extent extent : batches.extents) args.batches *= sizes.of(extent);
  const size_t last = batches.extents.size() - 1;
  if (last > 0) args.inner_batches = sizes.of(batches.extents[last]);
  for (size_t i = 0; i < 3; ++i) {
    args.batch_strides[i] = sizes.of(batches.strides[i][0]);
    if (last > 0) args.inner_strides[i] = sizes.of(batches.strides[i][last]);
  }
  for (size_t loop = 1; loop < last; ++loop) {
    const size_t at = 4 * (loop - 1);
    args.middle_loops[at] = sizes.of(batches.extents[loop]);
    for (size_t i = 0; i < 3; ++i) args.middle_loops[at + 1 + i] = sizes.of(batches.strides[i][loop]);
  }
}

// Of a value whose rows lie as [rows, n], of one matrix or of each; none where they do not.
std::optional<Dim> row_stride(const Lowering& lowering, ValueId v, bool batched) {
  const Shape strides = lowering.strides(v);
  if (!batched || strides.size() < 2) return lowering.row_stride(v, lowering.shape(v).back());
  return strides.back() == Dim(1) ? std::optional(strides[strides.size() - 2]) : std::nullopt;
}

// Where something of an epilogue lies apart: GemmArgs::full_strides.
Support epilogue_strides(const Lowering& lowering, const StepFrame& step, GemmPlan& plan, bool batched,
                         std::vector<Extent>& row_strides) {
  const std::vector<ValueId>& results = step.group.results;
  const auto operand = [&](size_t i) { return step.pointers[place_of<&GemmArgs::epilogue> + i].value; };
  const bool result_apart = std::ranges::any_of(results, [&](ValueId v) { return lowering.lies_apart(v); });
  bool apart = result_apart;
  for (size_t i = 0; i < plan.operands.size(); ++i) apart |= lowering.lies_apart(operand(i));
  if (!apart) return {};
  const Shape lies = lowering.strides(results[0]);
  for (ValueId v : results)
    if (!(lowering.strides(v) == lies)) return {"results that do not lie alike"};
  const auto add = [&](ValueId v) {
    const std::optional<Dim> stride = row_stride(lowering, v, batched);
    if (stride) row_strides.push_back(lowering.extent(*stride));
    return stride.has_value();
  };
  const auto has_batches_of_result = [&](ValueId v) {
    const Shape own = lowering.strides(v);
    return own.size() == lies.size() && std::equal(own.begin(), own.end() - 2, lies.begin());
  };
  for (size_t i = 0; i < plan.operands.size(); ++i) {
    const ValueId v = operand(i);
    const Epilogue::Access access = plan.operands[i].access;
    if (access == Epilogue::Access::full) {
      if ((batched && !has_batches_of_result(v)) || !add(v)) return {"rows that do not lie along those of the result"};
    } else if (lowering.lies_apart(v) && access != Epilogue::Access::scalar) {
      const bool along = access == Epilogue::Access::column && lowering.strides(v).back() == Dim(1);
      if (!along) return {"an operand for each row or column whose elements lie apart"};
    } else {
      lowering.strides(v);  // a scalar lies as it may
    }
  }
  if (!result_apart) return {};
  plan.result_row_stride = GemmPlan::kAnyStride;
  return add(results[0]) ? Support{} : Support{"a result whose rows have several strides"};
}

int64_t constant_or_zero(const Dim& dim) { return dim.is_constant() ? dim.constant() : 0; }

// The weights of a product: laid out for it, or an activation whose rows are outputs or inputs. Those that are laid out
// are [n, k] themselves: where a size is 1, the strides of their transpose are the same.
Support choose_weights(const Lowering& lowering, GemmPlan& plan, const Matrices& w, bool has_output_rows,
                       const Shape& n_and_k) {
  const Graph& graph = lowering.graph;
  const TensorType& type = graph.type(w.value);
  if (!lowering.sizes && graph.value(w.value).label.starts_with(kKnownInput))
    return {"weights that follow from the sizes"};
  const Shape own = lowering.shape(w.value);
  const bool is_weight_matrix =
      has_output_rows && own.size() == 2 && may_be_same(own[0], n_and_k[0]) && may_be_same(own[1], n_and_k[1]);
  if (is_weight_matrix && lowering.is_laid_out(w.value) && !plan.a_by_columns) {
    plan.weights = GemmPlan::Weights::prepacked;
    if (type.is_packed()) plan.w_format = to_string(*type.format);
    else plan.w = type.dtype;
  } else {
    if (type.is_packed()) return {"packed weights that are not [out, in]"};
    plan.weights = has_output_rows ? GemmPlan::Weights::activation_nk : GemmPlan::Weights::activation_kn;
    plan.w = type.dtype;
    if (plan.w != plan.a) return {fmt::format("operands of {} and {}", to_string(plan.a), to_string(plan.w))};
  }
  const bool is_known = plan.w == DType::f32 || plan.w == DType::bf16 || plan.multiplies_codes();
  if (plan.w_format.empty() && !is_known) return {fmt::format("weights of {}", to_string(plan.w))};
  return {};
}

}  // namespace

Support lower_gemm(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const bool is_linear = node.op == &linear_def;
  const auto flag = [&](const char* name) { return node.attributes.get_or<int64_t>(name, 0) != 0; };
  GemmPlan plan;
  plan.a = graph.type(node.operands[0]).dtype;
  if (const DType a = plan.a; a != DType::f32 && a != DType::bf16 && !(is_linear && (a == DType::i8 || a == DType::u8)))
    return {fmt::format("activations of {}", to_string(a))};
  if (graph.type(node.operands[0]).is_packed()) return {"the left operand is a packed constant"};
  const Shape a_shape = lowering.shape(node.operands[0]), out = lowering.shape(node.results[0]);
  if ((a_shape.size() < 2 && !is_linear) || graph.type(node.operands[1]).rank() < 2) return {"a vector operand"};
  const Matrices w = matrices_of(lowering, node.operands[1]),
                 a = is_linear ? Matrices{node.operands[0], a_shape, lowering.strides(node.operands[0])}
                               : matrices_of(lowering, node.operands[0]);
  if (!w.lie_in_runs() || !(lowering.strides(a.value).back() == Dim(1)))  // columns for rows might change bits
    return {"a factor without rows that lie together"};
  // Which of the last two dimensions is which, counted from the last.
  const size_t a_k = is_linear || !flag("transpose_a") ? 1 : 2, w_k = is_linear || flag("transpose_b") ? 1 : 2;
  const Dim k = a.extent(a_k), n = w.extent(3 - w_k);
  plan.k = constant_or_zero(k), plan.n = constant_or_zero(n);
  plan.a_by_columns = !(a.stride(a_k) == Dim(1));
  const bool has_output_rows = w.stride(w_k) == Dim(1);
  if (Support r = choose_weights(lowering, plan, w, has_output_rows, {n, k}); !r.supported()) return r;
  const bool is_packed_once = plan.weights == GemmPlan::Weights::prepacked;
  if (is_packed_once && (plan.n == 0 || plan.k == 0))
    return {"a product with laid out weights and sizes that are open"};
  std::optional<Batches> batches;
  bool batched = false;
  const bool is_one_matrix =
      a.shape.size() <= 2 || (a_k == 1 && (a.value == node.operands[0] || a.strides == dense_strides(a.shape)));
  if (w.shape.size() > 2 || !is_one_matrix) {
    batches = batches_of(lowering, a, w, {kNone, out, lowering.strides(step.group.results[0])});
    if (!batches) return {"batches of sizes that may be broadcast or not, or broadcast along many dimensions"};
    plan.middle_loops = std::max<int64_t>(0, std::ssize(batches->extents) - 2);
    for (Extent extent : batches->extents) batched |= !extent.is_constant() || extent.number != 1;
  }
  Dim a_stride = a.shape.size() < 2 ? k : plan.a_by_columns ? a.stride(a_k) : a.stride(3 - a_k);
  if (!batches && lowering.lies_apart(a.value) && !plan.a_by_columns) {
    const std::optional<Dim> stride = row_stride(lowering, a.value, false);
    if (!stride) return {"rows of the left factor that have several strides"};
    a_stride = *stride;
  }
  const Dim w_stride = has_output_rows ? w.stride(3 - w_k) : w.stride(w_k);
  if (!plan.a_by_columns) plan.a_row_stride = constant_or_zero(a_stride);
  lowering.bind(step, a.value);
  lowering.bind(step, w.value, is_packed_once ? Plane::prepacked : Plane::data);
  const ValueId bias = node.operands.size() > 2 ? node.operands[2] : kNone;
  const Expr sum = Expr::arg(0, plan.multiplies_codes() ? Scalar::i32 : Scalar::f32);
  if (Support r = lowering.epilogue(step, plan, sum, 1, bias, batched); !r.supported()) return r;
  std::vector<Extent> strides;
  if (Support r = epilogue_strides(lowering, step, plan, batches.has_value(), strides); !r.supported()) return r;
  const Extent m = batches ? lowering.extent(out[out.size() - 2]) : lowering.count({out.begin(), out.end() - 1}),
               n_extent = lowering.extent(n), k_extent = lowering.extent(k), a_extent = lowering.extent(a_stride),
               w_extent = lowering.extent(w_stride);
  if (m.is_constant()) plan.m = m.number;
  step.plan = plan;
  step.lasting = true;
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    GemmArgs args{.m = sizes.of(m),
                  .batches = 1,
                  .a_row = sizes.of(a_extent),
                  .w_row = sizes.of(w_extent),
                  .inner_batches = 1,
                  .n = sizes.of(n_extent),
                  .k = sizes.of(k_extent)};
    for (size_t i = 0; i < strides.size(); ++i) args.full_strides[i] = sizes.of(strides[i]);
    if (batches) write_batches(*batches, sizes, args);
    placed.set(args);
    return Support{};
  };
  return {};
}

}  // namespace hone
