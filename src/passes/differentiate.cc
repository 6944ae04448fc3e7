#include "passes/differentiate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "gradients/accumulate.h"
#include "ops/calls/full.h"
#include "passes/pass.h"

namespace hone {
namespace {

constexpr OptionField<DifferentiateOptions> kFields[] = {
    {"loss", "the output that is differentiated; default: the only one", &DifferentiateOptions::loss}};

std::vector<std::string> result_labels(const Graph& graph) {
  std::vector<std::string> labels;
  for (const Output& output : graph.outputs())
    if (output.updates == kNone) labels.push_back(output.label);
  return labels;
}

ValueId loss_of(const Graph& graph, const std::string& label) {
  const std::vector<std::string> labels = result_labels(graph);
  if (label.empty() && labels.size() != 1)
    fail("which of {} outputs is the loss? Give the option loss; outputs: {}", labels.size(), fmt::join(labels, ", "));
  const std::string& wanted = label.empty() ? labels[0] : label;
  for (const Output& output : graph.outputs())
    if (output.updates == kNone && output.label == wanted) return output.value;
  fail("no output \"{}\" to be the loss; outputs: {}{}", wanted, fmt::join(labels, ", "), did_you_mean(wanted, labels));
}

Graph add_gradients(Graph graph, const PassContext&, const DifferentiateOptions& options) {
  const std::vector<ValueId> parameters = trainable_parameters(graph);
  if (parameters.empty())
    fail(
        "a model without trainable parameters: none of its inputs is a `param` of plain floats. In C++, "
        "Graph::make_parameter makes one of a constant");
  const std::vector<ValueId> gradients = differentiate(graph, loss_of(graph, options.loss), parameters);
  for (size_t i = 0; i < parameters.size(); ++i)
    graph.add_output(gradients[i], "gradient of " + graph.value(parameters[i]).label);
  return graph;
}

}  // namespace

std::span<const OptionField<DifferentiateOptions>> DifferentiateOptions::fields() { return kFields; }

std::vector<ValueId> trainable_parameters(const Graph& graph) {
  std::vector<ValueId> parameters;
  for (ValueId id : graph.inputs())
    if (graph.value(id).role == InputRole::parameter && is_differentiable(graph.type(id))) parameters.push_back(id);
  return parameters;
}

std::vector<ValueId> differentiate(Graph& graph, ValueId loss, std::span<const ValueId> by,
                                   std::span<const ValueId> given) {
  const TensorType& type = graph.type(loss);
  if (!is_differentiable(type) || !type.ranked || element_count(type.shape) != Dim(1))
    fail("the loss %{} is {}; accepted: one float. Reduce it, by reduce_mean, say", graph.value(loss).name,
         to_string(type));
  for (ValueId id : by)
    if (!is_differentiable(graph.type(id)) || !graph.type(id).ranked)
      fail("%{} is {}, by which nothing is differentiated; accepted: plain floats of known rank", graph.value(id).name,
           to_string(graph.type(id)));
  const Seed seed{loss, ops::full(graph, {.shape = type.shape, .value = 1.0, .dtype = gradient_dtype(type.dtype)})};
  std::vector<ValueId> gradients = accumulate_gradients(graph, {&seed, 1}, by, given);
  for (size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i] == kNone) {
      const TensorType& of = graph.type(by[i]);
      gradients[i] = zeros(graph, gradient_dtype(of.dtype), of.shape);
    }
  return gradients;
}

// The rules are tried, on a copy, with inputs as gradients of results.
Trainability trainability(const Graph& graph, std::span<const ValueId> by) {
  Graph trial = graph;
  const std::vector<char> depends = dependents(graph, by);
  std::vector<char> needed(graph.value_capacity(), 0);
  const auto index = [](ValueId id) { return static_cast<size_t>(id); };
  for (const Output& output : graph.outputs()) needed[index(output.value)] = is_float(graph.type(output.value).dtype);
  Trainability found;
  const std::span<const NodeId> nodes = graph.nodes();
  for (size_t n = nodes.size(); n-- > 0;) {
    const Node& node = graph.node(nodes[n]);
    std::vector<ValueId> d_results;
    for (ValueId v : node.results) {
      TensorType type = graph.type(v);
      type.dtype = gradient_dtype(type.dtype);
      d_results.push_back(needed[index(v)] ? trial.add_input(fmt::format("gradient of value {}", v), type) : kNone);
    }
    const WantedOperands wanted(graph, node, depends);
    if (!wanted.any() || std::ranges::all_of(d_results, [](ValueId d) { return d == kNone; })) continue;
    try {
      gradients_at(trial, nodes[n], d_results, wanted);
    } catch (const Error& e) {
      found.obstacles.push_back({nodes[n], e.what()});
    }
    for (size_t i = 0; i < node.operands.size(); ++i)
      if (wanted[i]) needed[index(node.operands[i])] = 1;
  }
  std::ranges::reverse(found.obstacles);
  std::ranges::copy_if(by, std::back_inserter(found.reached), [&](ValueId v) { return needed[index(v)] != 0; });
  return found;
}

extern constinit const PassDef differentiate_def{
    .name = "differentiate",
    .doc =
        "Adds an output \"gradient of W\" for each trainable parameter W: the gradient of the loss, an output of one "
        "float.",
    .run = with_options<add_gradients>};

}  // namespace hone
