// Attention.
#include "codegen/kernels/attention/plan.h"
#include "codegen/lowering.h"

#include <cmath>
#include <limits>

#include "codegen/shapes.h"

namespace hone {

Refusal Lowering::attention(Step& step) const {
  const Node& node = graph.node(step.group.anchor);
  const std::vector<int64_t> q = shape_of(graph, node.operands[0]), k = shape_of(graph, node.operands[1]),
                             v = shape_of(graph, node.operands[2]);
  const int64_t heads = node.attributes.get<int64_t>("heads"),
                kv_heads = node.attributes.get_or<int64_t>("kv_heads", heads);
  if (q.size() != 3 || k.size() != 3 || v.size() != 3 || heads < 1 || kv_heads < 1 || q[2] % heads != 0 ||
      k[2] % kv_heads != 0 || q[2] > std::numeric_limits<int>::max())
    return {fmt::format("{} heads over {} of {}, {} and {}", heads, kv_heads, to_string(graph.type(node.operands[0])),
                        to_string(graph.type(node.operands[1])), to_string(graph.type(node.operands[2])))};
  AttentionPlan plan;
  plan.heads = static_cast<int>(heads), plan.kv_heads = static_cast<int>(kv_heads);
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

}  // namespace hone
