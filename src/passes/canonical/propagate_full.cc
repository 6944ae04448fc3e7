// A tensor of one value stays one under pointwise and shape ops: so a mask of ones made inside the graph becomes a bias
// of zeros without being computed, whatever the batch size.
#include "base/stop.h"
#include "ir/unbacked.h"
#include "ops/calls/expand.h"
#include "ops/calls/full.h"
#include "ops/calls/slice.h"
#include "ops/calls/transpose.h"
#include "ops/evaluate.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

bool moves_elements(const OpDef& op) {
  return op.view || &op == &transpose_def || &op == &expand_def || &op == &slice_def;
}

// Values of all operands, one of which is a `full`.
std::optional<std::vector<double>> operand_values(const Graph& graph, const Node& node) {
  std::vector<double> values;
  bool any_full = false;
  for (ValueId id : node.operands) {
    const std::optional<double> value = id == kNone ? std::nullopt : uniform_value(graph, id);
    if (!value) return std::nullopt;
    any_full = any_full || produced_by(graph, id, full_def) != kNone;
    values.push_back(*value);
  }
  if (!any_full) return std::nullopt;
  return values;
}

// The op on single elements, if a `full` can hold the result.
std::optional<double> apply(const Graph& graph, const Node& node, const std::vector<double>& values) {
  std::vector<Tensor> scalars;
  std::vector<const Tensor*> operands;
  for (size_t i = 0; i < values.size(); ++i)
    scalars.push_back(Tensor::from_doubles(graph.type(node.operands[i]).dtype, {}, {&values[i], 1}));
  for (const Tensor& scalar : scalars) operands.push_back(&scalar);
  const Tensor result = evaluate_node(*node.op, operands, node.attributes)[0];
  const double value = result.to_doubles()[0];
  if (!Tensor::from_doubles(result.dtype(), {}, {&value, 1}).same_bits(result)) return std::nullopt;
  return value;
}

Graph propagate_full(Graph graph, const PassContext&) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    check_stop();
    const Node& node = graph.node(id);
    if (!node.op->pointwise && !moves_elements(*node.op)) continue;
    const std::optional<std::vector<double>> values = operand_values(graph, node);
    if (!values) continue;
    const std::optional<double> value = node.op->pointwise ? apply(graph, node, *values) : values->front();
    const TensorType type = graph.type(node.results[0]);
    if (value && type.ranked && !depends_on_data(type.shape))
      replace_node(graph, id, ops::Full{.shape = type.shape, .value = *value, .dtype = type.dtype});
  }
  return graph;
}

}  // namespace

extern constinit const PassDef propagate_full_def{
    .name = "propagate_full",
    .doc = "Pointwise and shape ops on tensors of one value (full) become a full.",
    .run = propagate_full};

}  // namespace hone
