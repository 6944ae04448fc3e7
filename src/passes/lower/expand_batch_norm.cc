// batch_norm that no product before it could take up: a multiple of each channel and an addition, in the epilogue of
// whatever computes x.
#include "ops/calls/batch_norm.h"
#include "ops/calls/reshape.h"
#include "ops/registry.h"
#include "passes/pass.h"

namespace hone {
namespace {

bool is_all_f32(const Graph& graph, NodeId id) {
  for (ValueId operand : graph.node(id).operands)
    if (operand == kNone || graph.type(operand).dtype != DType::f32 || !graph.type(operand).ranked) return false;
  return true;
}

void expand(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const auto op = [&](const char* name, std::vector<ValueId> operands) {
    return graph.emit(ops::get(name), std::move(operands));
  };
  const auto epsilon = static_cast<float>(node.attributes.get_or<double>("epsilon", 1e-5));
  std::vector<int64_t> pixels;  // axes after the channels
  for (size_t i = 1; i + 1 < graph.type(node.operands[0]).rank(); ++i) pixels.push_back(static_cast<int64_t>(i));
  const auto per_channel = [&](ValueId v) { return ops::unsqueeze(graph, {.x = v, .axes = pixels}); };

  graph.set_insertion_point(id);
  const ValueId deviation = op("sqrt", {op("add", {node.operands[4], graph.add_scalar(epsilon)})});
  const ValueId factor = op("div", {node.operands[1], deviation});
  const ValueId shift = op("sub", {node.operands[2], op("mul", {node.operands[3], factor})});
  const ValueId y = op("add", {op("mul", {node.operands[0], per_channel(factor)}), per_channel(shift)});
  graph.set_insertion_point(kNone);
  graph.replace_all_uses(node.results[0], y);
  graph.erase(id);
}

Graph expand_batch_norm(Graph graph, const PassContext&) {
  for (NodeId id : graph.nodes(batch_norm_def))
    if (is_all_f32(graph, id)) expand(graph, id);
  return graph;
}

}  // namespace

extern constinit const PassDef expand_batch_norm_def{.name = "expand_batch_norm",
                                                     .doc = "batch_norm of f32 → x * factor + shift for each channel.",
                                                     .run = expand_batch_norm};

}  // namespace hone
