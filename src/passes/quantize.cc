#include "passes/quantize.h"

#include <map>

#include "ops/registry.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/weight_matrix.h"

namespace hone {
namespace {

// The weights of convs as the matrix that formats are laid on.
ValueId as_matrix(Graph& graph, ValueId weights) {
  const std::vector<int64_t> shape = graph.constant(weights)->shape();
  const std::optional<Tensor> tensor = weight_matrix(*graph.constant(weights));
  CHECK(tensor, "packed weights of a conv are planned as they lie");
  const ValueId matrix = graph.add_constant("", *tensor);
  for (const Graph::Use& use : graph.uses(weights)) {
    graph.set_operand(use.node, use.operand, matrix);
    graph.set_attribute(use.node, "kernel_shape", std::vector<int64_t>(shape.begin() + 2, shape.end()));
  }
  graph.set_label(matrix, derived_label(graph, weights, ".matrix"));
  return matrix;
}

void quantize_constant(Graph& graph, const QuantizeChoice& choice) {
  ValueId constant = choice.value;
  if (graph.uses(constant).empty()) return;
  if (choice.shape != graph.constant(constant)->shape()) constant = as_matrix(graph, constant);
  const std::vector<Graph::Use> uses = graph.uses(constant);
  graph.set_insertion_point(uses[0].node);
  const ValueId rounded = graph.emit(ops::get("fake_quant"), {constant}, {{"format", *choice.format}});
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
    if (choice.format) quantize_constant(graph, choice);
  if (!options.activations.empty()) quantize_activations(graph, parse_format(options.activations));
  graph.erase_unused_constants();
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
