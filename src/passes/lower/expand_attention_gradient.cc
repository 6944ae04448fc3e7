// attention_gradient as products, softmax and its gradient, each of which is compiled: where its own kernel, which
// keeps nothing of queries x keys, does not take it, and where products read bf16, which that kernel does not.
#include "gradients/attention.h"
#include "ops/calls/attention.h"
#include "passes/lower/set_compute.h"
#include "passes/pass.h"
#include "passes/pipelines.h"

namespace hone {
namespace {

// Where there are no keys, nothing is a softmax.
bool is_expandable(const Graph& graph, const Node& node) {
  for (ValueId v : node.operands)
    if (v != kNone && !graph.type(v).ranked) return false;
  return graph.type(node.operands[1]).shape[1] != Dim(0);
}

// Whether a mask broadcasts to queries x keys in a way that is known for all sizes, and has the keys themselves.
bool has_plain_mask(const Graph& graph, const Node& node) {
  if (node.operands.size() <= 4 || node.operands[4] == kNone) return true;
  const TensorType& mask = graph.type(node.operands[4]);
  const Shape &q = graph.type(node.operands[0]).shape, &k = graph.type(node.operands[1]).shape;
  const Shape full{q[0], node.attributes.get<int64_t>("heads"), q[1], k[1]};
  if (mask.dtype != DType::f32 || mask.shape.empty() || mask.shape.back() != k[1]) return false;
  for (size_t i = 0, missing = full.size() - mask.shape.size(); i < mask.shape.size(); ++i)
    if (mask.shape[i] != Dim(1) && mask.shape[i] != full[missing + i]) return false;
  return true;
}

// Whether the kernel of the op takes it (kernels/attention_gradient).
bool has_kernel(const Graph& graph, const Node& node) {
  if (node.attributes.has("before") || node.attributes.get_or<double>("softcap", 0) != 0 ||
      node.attributes.get_or<int64_t>("blind_is_zero", 0) != 0)
    return false;
  for (size_t i = 0; i < 4; ++i)
    if (graph.type(node.operands[i]).dtype != DType::f32 || graph.type(node.operands[i]).is_packed()) return false;
  return graph.type(node.operands[1]).shape[2] == graph.type(node.operands[2]).shape[2] && has_plain_mask(graph, node);
}

Graph expand_attention_gradient(Graph graph, const PassContext&, const SetComputeOptions& options) {
  const bool in_f32 = parse_compute(options.compute) == Compute::f32;
  for (NodeId id : graph.nodes(attention_gradient_def)) {
    const Node node = graph.node(id);
    if (!is_expandable(graph, node) || (in_f32 && has_kernel(graph, node))) continue;
    const ValueId mask = node.operands.size() > 4 ? node.operands[4] : kNone;
    graph.set_insertion_point(id);
    const AttentionGradients all = expanded_attention_gradient(
        graph, {node.operands[0], node.operands[1], node.operands[2], mask, node.operands[3]}, node.attributes);
    graph.set_insertion_point(kNone);
    const ValueId values[] = {all.q, all.k, all.v};
    for (size_t i = 0; i < 3; ++i) {
      graph.refine_type(values[i], graph.type(node.results[i]));
      graph.replace_all_uses(node.results[i], values[i]);
    }
    graph.erase(id);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef expand_attention_gradient_def{
    .name = "expand_attention_gradient",
    .doc =
        "attention_gradient → matrix products, softmax and its gradient, under bf16 compute or where no kernel takes "
        "it as it is.",
    .run = with_options<expand_attention_gradient>};

}  // namespace hone
