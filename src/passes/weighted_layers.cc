#include "passes/weighted_layers.h"

#include <optional>

#include "passes/match.h"

namespace hone {
namespace {

// The labelled constant that an operand is, or is the fake_quant of; kNone when there is none.
ValueId weight_of(const Graph& graph, ValueId operand) {
  if (const NodeId rounded = produced_by(graph, operand, "fake_quant"); rounded != kNone)
    operand = graph.operand(rounded, 0);
  const Tensor* constant = graph.constant(operand);
  const bool is_weight = constant && constant->shape().size() >= 2 && !graph.value(operand).label.empty() &&
                         (constant->is_packed() || is_float(constant->dtype()));
  return is_weight ? operand : kNone;
}

std::optional<WeightedLayer> layer_with_weight(const Graph& graph, NodeId node, int operand) {
  const int other = 1 - operand;
  const ValueId weight = weight_of(graph, graph.operand(node, operand));
  if (weight == kNone || weight_of(graph, graph.operand(node, other)) != kNone) return std::nullopt;
  return WeightedLayer{node, other, operand, graph.operand(node, other), weight};
}

std::optional<WeightedLayer> layer_of(const Graph& graph, NodeId node) {
  const std::string_view op = graph.node(node).op->name;
  if (op == "linear" || op == "conv") return layer_with_weight(graph, node, 1);
  if (op != "matmul") return std::nullopt;
  for (int operand : {1, 0})
    if (const auto layer = layer_with_weight(graph, node, operand); layer && graph.type(layer->weight).rank() == 2)
      return layer;
  return std::nullopt;
}

}  // namespace

std::vector<WeightedLayer> weighted_layers(const Graph& graph) {
  std::vector<WeightedLayer> layers;
  for (NodeId node : graph.nodes())
    if (const auto layer = layer_of(graph, node)) layers.push_back(*layer);
  return layers;
}

}  // namespace hone
