#include "passes/compress/quantize.h"

#include <map>

#include "formats/learned_scale.h"
#include "ops/calls/fake_quant.h"
#include "ops/sliding_window.h"
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
  const ValueId rounded = ops::fake_quant(graph, {.x = constant, .format = *choice.format});
  graph.set_insertion_point(kNone);
  for (const Graph::Use& use : uses) graph.set_operand(use.node, use.operand, rounded);
}

// Blocks lie along the axis that the layer sums over, unless the format names another (docs/FORMATS.md, section 3.4).
Format along_sums(Format format, const Graph& graph, const Graph::Use& use) {
  if (format.geometry.kind != Geometry::Kind::group || format.geometry.axis != -1) return format;
  const Node& node = graph.node(use.node);
  format.geometry.axis = static_cast<int>(node.op->axis_of_sums(node.attributes, static_cast<size_t>(use.operand)));
  return format;
}

// By the scale that the format chooses for the range that was observed.
ops::FakeQuant rounded_statically(Graph& graph, ValueId x, const QuantizeChoice& choice, const PassContext& context) {
  const auto found = std::ranges::find_if(context.observed, [&](const ObservedInput& input) {
    return input.value == x && input.format == *choice.format && input.observer == choice.observer;
  });
  if (found == context.observed.end()) fail("{} ({}) needs calibration data", choice.name, choice.after);
  const float ends[] = {found->range.low, found->range.high};
  const int64_t shape[] = {2};
  const LearnedValues chosen = chosen_by_format(*choice.format, shape, ends);
  ops::FakeQuant call{.x = x, .format = *choice.format};
  call.scale = graph.add_scalar<float>(chosen.learned[0]);
  if (!chosen.zero_points.empty()) call.zero_point = graph.add_scalar<float>(chosen.zero_points[0]);
  return call;
}

// Values that several layers read in one format are rounded once. Activations that were rounded already are rounded
// anew from what they were before.
void quantize_activations(Graph& graph, const std::vector<QuantizeChoice>& choices, const PassContext& context) {
  std::map<std::pair<NodeId, int>, const QuantizeChoice*> chosen;
  for (const QuantizeChoice& choice : choices)
    for (const Graph::Use& use : choice.uses)
      if (choice.format) chosen[{use.node, use.operand}] = &choice;
  std::map<std::pair<ValueId, std::string>, ValueId> rounded;
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes)
    for (auto at = chosen.lower_bound({id, 0}); at != chosen.end() && at->first.first == id; ++at) {
      const int operand = at->first.second;
      const ValueId x = unrounded(graph, graph.operand(id, operand));
      const Format format = along_sums(*at->second->format, graph, {id, operand});
      const std::string& observer = at->second->observer;
      ValueId& result = rounded.try_emplace({x, to_string(format) + "@" + observer}, kNone).first->second;
      if (result == kNone) {
        graph.set_insertion_point(id);
        result = ops::fake_quant(graph, observer.empty() ? ops::FakeQuant{.x = x, .format = format}
                                                         : rounded_statically(graph, x, *at->second, context));
      }
      graph.set_operand(id, operand, result);
    }
  graph.set_insertion_point(kNone);
}

Graph apply(Graph graph, const QuantizationPlan& plan, const PassContext& context) {
  for (const BodyPlan& inner : plan.bodies) {
    std::vector<Graph> bodies = graph.node(inner.node).subgraphs;
    bodies[inner.body] = apply(std::move(bodies[inner.body]), inner.plan, context);
    graph.set_subgraphs(inner.node, std::move(bodies));
  }
  quantize_activations(graph, plan.activations, context);
  for (const QuantizeChoice& choice : plan.constants)
    if (choice.format) quantize_constant(graph, choice);
  for (NodeId id : graph.nodes(fake_quant_def))
    if (graph.use_count(graph.result(id)) == 0) graph.erase(id);
  graph.erase_unused_constants();
  graph.reinfer();
  return graph;
}

Graph quantize(Graph graph, const PassContext& context, const FormatRules& rules) {
  const QuantizationPlan plan = plan_quantization(graph, rules);
  return apply(std::move(graph), plan, context);
}

}  // namespace

extern constinit const PassDef quantize_pass_def{
    .name = "quantize",
    .doc =
        "fake_quant after the constants and before the layers that the options "
        "choose; fold_fake_quant then packs the constants.",
    .run = with_options<quantize>};

}  // namespace hone
