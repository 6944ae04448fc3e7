#include "passes/layer.h"

#include <algorithm>
#include <optional>

namespace hone {
namespace {

// None where the node is no layer.
std::optional<Layer> layer_at(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  Layer layer{.node = id};
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const OperandSpec& spec = node.op->operands.of(i);
    const ValueId operand = node.operands[i];
    if (spec.bias && graph.constant(operand)) layer.bias = operand;
    if (!spec.factor) continue;
    if (!is_float(graph.type(operand).dtype)) return std::nullopt;  // codes
    if (!graph.constant(operand)) layer.inputs.push_back(static_cast<int>(i));
    else if (graph.value(operand).label.empty()) return std::nullopt;
    else layer.weight = operand;
  }
  if (layer.inputs.empty()) return std::nullopt;
  layer.name = layer.weight == kNone ? graph.value(node.results[0]).name : layer_name(graph.value(layer.weight).label);
  return layer;
}

}  // namespace

std::vector<Layer> layers_of(const Graph& graph) {
  std::vector<Layer> layers;
  for (NodeId id : graph.nodes())
    if (std::optional<Layer> layer = layer_at(graph, id)) layers.push_back(*std::move(layer));
  return layers;
}

std::string layer_name(std::string_view weight_label) {
  constexpr std::string_view kSuffix = ".weight";
  if (weight_label.ends_with(kSuffix)) weight_label.remove_suffix(kSuffix.size());
  return std::string(weight_label);
}

}  // namespace hone
