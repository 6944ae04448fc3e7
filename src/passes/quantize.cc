#include "passes/quantize.h"

#include <map>

#include "ops/registry.h"
#include "passes/pass.h"

namespace hone {
namespace {

void quantize_constant(Graph& graph, ValueId constant, const Format& format) {
  const std::vector<Graph::Use> uses = graph.uses(constant);
  if (uses.empty()) return;
  graph.set_insertion_point(uses[0].node);
  const ValueId rounded = graph.emit(ops::get("fake_quant"), {constant}, {{"format", format}});
  graph.set_insertion_point(kNone);
  for (const Graph::Use& use : uses) graph.set_operand(use.node, use.operand, rounded);
}

// Operands of the op that are activations when they are not constants.
int activation_operands(std::string_view op) { return op == "matmul" ? 2 : op == "linear" || op == "conv" ? 1 : 0; }

void quantize_activations(Graph& graph, const Format& format) {
  std::map<ValueId, ValueId> rounded;
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    for (int i = 0; i < activation_operands(graph.node(id).op->name); ++i) {
      const ValueId x = graph.operand(id, i);
      const OpDef* producer = graph.producer_op(x);
      if (graph.constant(x) || (producer && std::string_view(producer->name) == "fake_quant")) continue;
      if (!rounded.contains(x)) {
        graph.set_insertion_point(id);
        rounded[x] = graph.emit(ops::get("fake_quant"), {x}, {{"format", format}});
      }
      graph.set_operand(id, i, rounded[x]);
    }
  }
  graph.set_insertion_point(kNone);
}

Graph quantize(Graph graph, const PassContext& context) {
  const auto& options = context.get<QuantizeOptions>();
  for (const QuantizeChoice& choice : plan_quantisation(graph, options))
    if (choice.format) quantize_constant(graph, choice.value, *choice.format);
  if (!options.activations.empty()) quantize_activations(graph, parse_format(options.activations));
  graph.reinfer();
  return graph;
}

}  // namespace

extern constinit const PassDef quantize_def{.name = "quantize",
                                            .doc =
                                                "fake_quant after the weights that the options choose, and on "
                                                "activations when asked; fold_fake_quant then packs.",
                                            .run = quantize};

}  // namespace hone
