// Attention.
#include "codegen/kernels/attention/plan.h"
#include "codegen/lowering.h"

#include <cmath>
#include <limits>

#include "codegen/shapes.h"

namespace hone {

void AttentionOperands::write(const RunSizes& sizes, KernelDims& dims) const {
  dims[0] = sizes.of(batches), dims[1] = sizes.of(queries), dims[2] = sizes.of(keys);
  for (size_t i = 0; i < 3; ++i) dims[7 + i] = sizes.of(mask_strides[i]);
}

int64_t length_bound(int64_t keys) {
  int64_t most = 128;
  while (most < keys) most *= 2;
  return most;
}

Support read_attention(const Lowering& lowering, const Node& node, ValueId mask, AttentionOperands& read) {
  const Graph& graph = lowering.graph;
  const Shape q = lowering.shape(node.operands[0]), k = lowering.shape(node.operands[1]),
              v = lowering.shape(node.operands[2]);
  const int64_t heads = node.attributes.get<int64_t>("heads"),
                kv_heads = node.attributes.get_or<int64_t>("kv_heads", heads);
  if (q.size() != 3 || k.size() != 3 || v.size() != 3 || heads < 1 || kv_heads < 1 || !q[2].is_constant() ||
      !k[2].is_constant() || q[2].constant() % heads != 0 || k[2].constant() % kv_heads != 0 ||
      q[2].constant() > std::numeric_limits<int>::max())
    return {fmt::format("{} heads over {} of {}, {} and {}", heads, kv_heads, to_string(graph.type(node.operands[0])),
                        to_string(graph.type(node.operands[1])), to_string(graph.type(node.operands[2])))};
  AttentionPlan& plan = read.plan;
  plan.heads = static_cast<int>(heads), plan.kv_heads = static_cast<int>(kv_heads);
  plan.head_dim = static_cast<int>(q[2].constant() / plan.heads);
  plan.causal = node.attributes.get_or<int64_t>("causal", 0) != 0;
  plan.scale =
      static_cast<float>(node.attributes.get_or<double>("scale", 1 / std::sqrt(static_cast<double>(plan.head_dim))));
  plan.dtype = graph.type(node.operands[0]).dtype;
  for (int i = 1; i < 3; ++i)
    if (graph.type(node.operands[static_cast<size_t>(i)]).dtype != plan.dtype)
      return {"q, k and v of different element types"};
  if (plan.dtype != DType::f32 && plan.dtype != DType::bf16)
    return {fmt::format("operands of {}", to_string(plan.dtype))};
  if (!(v[2] == k[2])) return {"values of another width than the keys"};
  if (mask != kNone) {
    if (graph.type(mask).dtype != DType::f32) return {"a mask that is not f32"};
    const Shape m = lowering.shape(mask);
    if (m.size() > 4 || m.empty() || !(m.back() == k[1])) return {"a mask without the key dimension"};
    const std::optional<Shape> strides = broadcast_strides(m, lowering.strides(mask), {q[0], plan.heads, q[1], k[1]});
    if (!strides) return {"a mask whose dimensions may be broadcast or not"};
    if (lowering.lies_apart(mask) && !((*strides)[3] == Dim(1))) return {"a mask whose rows do not lie together"};
    for (size_t i = 0; i < 3; ++i) read.mask_strides[i] = lowering.extent((*strides)[i]);
    plan.has_mask = true;
  }
  read.batches = lowering.extent(q[0]), read.queries = lowering.extent(q[1]), read.keys = lowering.extent(k[1]);
  return {};
}

Support lower_attention(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const ValueId mask = node.operands.size() > 3 ? node.operands[3] : kNone;
  AttentionOperands read;
  if (Support r = read_attention(lowering, node, mask, read); !r.supported()) return r;
  if (step.group.results.size() != 1) return {"several results"};
  read.plan.result = graph.type(step.group.results[0]).dtype;
  std::array<Extent, 4> strides;
  for (size_t i = 0; i < 4; ++i) {
    const ValueId lines = i < 3 ? node.operands[i] : step.group.results[0];
    const std::optional<Dim> stride = lowering.row_stride(lines, lowering.shape(lines)[2]);
    if (!stride) return {"rows of several strides"};
    strides[i] = lowering.extent(*stride);
    if (i == 3) lowering.bind(step, mask, mask == kNone ? Plane::none : Plane::data);
    lowering.bind(step, lines);
  }
  prepared.place = [=, target = lowering.target, plans = PlanVariants<int64_t>()](const RunSizes& sizes,
                                                                                  StepCall& placed) mutable {
    read.write(sizes, placed.dims);
    for (size_t i = 0; i < 4; ++i) placed.dims[3 + i] = sizes.of(strides[i]);
    const int64_t most = length_bound(placed.dims[2]);
    return plans.choose(most, target, placed, [&] {
      AttentionPlan chosen = read.plan;
      chosen.max_length = most;
      return KernelPlan(chosen);
    });
  };
  return {};
}

}  // namespace hone
