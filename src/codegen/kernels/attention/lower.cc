// Attention.
#include "codegen/kernels/attention/plan.h"
#include "codegen/lowering.h"

#include <cmath>
#include <limits>

#include "codegen/shapes.h"

namespace hone {

Support lower_attention(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const Shape q = lowering.shape(node.operands[0]), k = lowering.shape(node.operands[1]),
              v = lowering.shape(node.operands[2]);
  const int64_t heads = node.attributes.get<int64_t>("heads"),
                kv_heads = node.attributes.get_or<int64_t>("kv_heads", heads);
  if (q.size() != 3 || k.size() != 3 || v.size() != 3 || heads < 1 || kv_heads < 1 || !q[2].is_constant() ||
      !k[2].is_constant() || q[2].constant() % heads != 0 || k[2].constant() % kv_heads != 0 ||
      q[2].constant() > std::numeric_limits<int>::max())
    return {fmt::format("{} heads over {} of {}, {} and {}", heads, kv_heads, to_string(graph.type(node.operands[0])),
                        to_string(graph.type(node.operands[1])), to_string(graph.type(node.operands[2])))};
  AttentionPlan plan;
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
  if (step.group.results.size() != 1) return {"several results"};
  plan.result = graph.type(step.group.results[0]).dtype;
  for (int i = 0; i < 3; ++i) lowering.bind(step, node.operands[static_cast<size_t>(i)]);
  std::array<Extent, 3> mask_strides{};
  if (node.operands.size() > 3 && node.operands[3] != kNone) {
    const ValueId mask = node.operands[3];
    if (graph.type(mask).dtype != DType::f32) return {"a mask that is not f32"};
    const Shape m = lowering.shape(mask);
    if (m.size() > 4 || m.empty() || !(m.back() == k[1])) return {"a mask without the key dimension"};
    const std::optional<Shape> strides = broadcast_strides(m, {q[0], plan.heads, q[1], k[1]});
    if (!strides) return {"a mask whose dimensions may be broadcast or not"};
    for (size_t i = 0; i < 3; ++i) mask_strides[i] = lowering.extent((*strides)[i]);
    plan.has_mask = true;
    lowering.bind(step, mask);
  } else {
    lowering.bind(step, kNone, Plane::none);
  }
  lowering.bind(step, step.group.results[0]);
  step.dims[3] = q[2].constant(), step.dims[4] = k[2].constant(), step.dims[5] = v[2].constant();
  step.dims[6] = q[2].constant();
  const Extent batches = lowering.extent(q[0]), queries = lowering.extent(q[1]), keys = lowering.extent(k[1]);
  prepared.place = [=, target = lowering.target, plans = PlanVariants<int64_t>()](const RunSizes& sizes,
                                                                                  StepCall& placed) mutable {
    auto& d = placed.dims;
    d[0] = sizes.of(batches), d[1] = sizes.of(queries), d[2] = sizes.of(keys);
    for (size_t i = 0; i < 3; ++i) d[7 + i] = sizes.of(mask_strides[i]);
    int64_t most = 128;  // lengths of one range share a kernel
    while (most < d[2]) most *= 2;
    return plans.choose(most, target, placed, [&] {
      AttentionPlan chosen = plan;
      chosen.max_length = most;
      return KernelPlan(chosen);
    });
  };
  return {};
}

}  // namespace hone
