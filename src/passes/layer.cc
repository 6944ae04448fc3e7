#include "passes/layer.h"

#include <algorithm>
#include <optional>

namespace hone {
namespace {

// Leading operands of the op that are factors of its products: 0 for other ops.
int factors(std::string_view op) {
  return op == "linear" || op == "conv" || op == "matmul" ? 2 : op == "attention" ? 3 : 0;
}

// None where the node is no layer.
std::optional<Layer> layer_at(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  Layer layer{.node = id};
  for (int i = 0; i < factors(node.op->name); ++i) {
    const ValueId operand = node.operands[static_cast<size_t>(i)];
    if (!graph.constant(operand)) layer.inputs.push_back(i);
    else if (graph.value(operand).label.empty()) return std::nullopt;
    else layer.weight = operand;
  }
  if (layer.inputs.empty()) return std::nullopt;
  const bool adds_bias = is_weight_operand(node.op->name, 1) && node.operands.size() > 2;
  if (adds_bias && graph.constant(node.operands[2])) layer.bias = node.operands[2];
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

bool is_weight_operand(std::string_view op, int i) {
  return op == "matmul" || ((op == "linear" || op == "conv") && i == 1) || (op == "gather" && i == 0);
}

}  // namespace hone
