#include "prune/synaptic_flow.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/reduce.h"
#include "passes/differentiate.h"
#include "passes/pipelines.h"
#include "train/sized_graph.h"
#include "train/train_graph.h"

namespace hone {
namespace {

Tensor magnitudes(const Tensor& tensor) {
  std::vector<float> values = tensor.to_floats();
  for (float& value : values) value = std::abs(value);
  return Tensor::from_floats(DType::f32, tensor.shape(), values);
}

// Outputs: the sum of each parameter of those labels times its gradient, of the sum of the predictions.
Graph with_flows(Graph graph, const std::vector<std::string>& labels) {
  const std::string predictions = predictions_label(graph, "");
  const auto output = std::ranges::find(graph.outputs(), predictions, &Output::label);
  const ValueId sum = ops::reduce_sum(graph, {.x = output->value, .keepdims = 0});
  std::vector<ValueId> weights;
  for (const std::string& label : labels)
    for (ValueId input : graph.inputs())
      if (graph.value(input).label == label) weights.push_back(input);
  const std::vector<ValueId> gradients = differentiate(graph, sum, weights);
  std::vector<Output> outputs;
  for (size_t i = 0; i < weights.size(); ++i) {
    const ValueId flow = ops::mul(graph, {.a = weights[i], .b = gradients[i]});
    outputs.push_back({.value = ops::reduce_sum(graph, {.x = flow, .keepdims = 0}), .label = labels[i]});
  }
  graph.set_outputs(outputs);
  return run_pass(std::move(graph), "remove_dead");
}

}  // namespace

double synaptic_flow(Graph graph, const std::vector<std::string>& labels, NamedTensors like,
                     const SessionOptions& options) {
  for (auto& [name, tensor] : like) {
    if (tensor.is_packed() || !is_float(tensor.dtype()))
      fail("input {} takes {}; synflow is of models whose inputs are floats (snip and gradient_norm are of any)", name,
           to_string(tensor.type()));
    const std::vector<float> ones(static_cast<size_t>(tensor.elements()), 1.0f);
    tensor = Tensor::from_floats(tensor.dtype(), tensor.shape(), ones);
  }
  for (ValueId id : graph.constants()) {
    const Tensor& constant = *graph.constant(id);
    if (graph.value(id).label.empty() || constant.is_packed() || !is_float(constant.dtype())) continue;
    graph.set_constant(id, magnitudes(constant));
  }
  for (const std::string& label : labels) {
    const ValueId weight = graph.find_constant(label);
    CHECK(weight != kNone, "no constant {}", label);
    graph.make_parameter(weight);
  }
  graph.reinfer();
  const auto flows = [&](Graph model) { return with_flows(std::move(model), labels); };
  SessionOptions session = options;
  session.compute = Compute::f32;
  double total = 0;
  const Graph made = make_sized(graph, flows, [&] { return sizes_of(graph, like); }).graph;
  for (const Tensor& flow : Session(made, session).run(like)) total += flow.to_doubles()[0];
  if (!std::isfinite(total)) fail("the synaptic flow is {}, beyond f32: the network is too deep for it", total);
  return total;
}

}  // namespace hone
