#include "prune/loss_gradients.h"

#include <cmath>

#include "base/error.h"
#include "base/stop.h"
#include "ops/calls/arithmetic.h"
#include "passes/differentiate.h"
#include "passes/pipelines.h"
#include "train/loop/sized_sessions.h"
#include "train/losses/loss.h"
#include "train/sized_graph.h"
#include "train/train_graph.h"

namespace hone {
namespace {

// Outputs: the loss of the first output, and its gradients by the parameters of those labels.
Graph differentiated(Graph graph, const std::vector<std::string>& labels, const std::string& loss_name) {
  std::vector<ValueId> parameters;
  for (const std::string& label : labels)
    for (ValueId input : graph.inputs())
      if (graph.value(input).label == label) parameters.push_back(input);
  const LossTerms terms =
      add_loss(graph, graph.outputs()[0].value, TrainNames::kLabels, LossOptions{.loss = loss_name});
  const ValueId loss = ops::div(graph, {.a = terms.sum, .b = terms.count});
  const std::vector<ValueId> gradients = differentiate(graph, loss, parameters);
  std::vector<Output> outputs{{.value = loss, .label = TrainNames::kLoss}};
  for (size_t i = 0; i < labels.size(); ++i) outputs.push_back({.value = gradients[i], .label = "d " + labels[i]});
  graph.set_outputs(outputs);
  return run_pass(std::move(graph), "remove_dead");
}

// The loss and its gradients as outputs, the weights as parameters.
class Descent {
 public:
  Descent(Graph graph, const std::vector<std::string>& labels, const LossData& data, SessionOptions options)
      : labels_(labels) {
    const std::string predictions = predictions_label(graph, "");
    for (const Output& output : graph.outputs())
      if (output.label == predictions) {
        graph.set_outputs({output});
        break;
      }
    for (const std::string& label : labels) {
      const ValueId weight = graph.find_constant(label);
      graph.set_constant(weight, graph.constant(weight)->converted(DType::f32));
      values_[label] = *graph.constant(weight);
      graph.make_parameter(weight);
    }
    graph.reinfer();
    options.compute = Compute::f32;
    const auto with_gradients = [labels, loss = data.loss](Graph model) {
      return differentiated(std::move(model), labels, loss);
    };
    const auto sizes = [&] { return sizes_of(graph, data.batches.at(0)); };
    SizedGraph made = make_sized(graph, with_gradients, sizes);
    const auto for_sizes = [graph, with_gradients](const Bindings& b) { return with_gradients(with_sizes(graph, b)); };
    sessions_.emplace(made.graph, made.sizes, for_sizes, graph, options);
  }

  std::map<std::string, Tensor> gradients(const NamedTensors& batch) {
    check_stop();
    const std::vector<Tensor> outputs = sessions_->of(batch).run(batch);
    if (!std::isfinite(outputs[0].to_doubles()[0]))
      fail("the loss on the data is {}; scores of it say nothing", outputs[0].to_doubles()[0]);
    std::map<std::string, Tensor> found;
    for (size_t i = 0; i < labels_.size(); ++i) found[labels_[i]] = outputs[i + 1];
    return found;
  }

  void step(const std::map<std::string, Tensor>& gradients, double rate) {
    NamedTensors updated;
    for (auto& [label, value] : values_) {
      const std::span<const float> d = gradients.at(label).as<float>();
      const std::span<float> w = value.mutable_as<float>();
      for (size_t i = 0; i < w.size(); ++i) w[i] -= static_cast<float>(rate) * d[i];
      updated[label] = value;
    }
    sessions_->first().set_parameters(updated);
  }

  const Tensor& value(const std::string& label) const { return values_.at(label); }

 private:
  const std::vector<std::string>& labels_;
  std::map<std::string, Tensor> values_;
  std::optional<SizedSessions> sessions_;
};

std::map<std::string, std::vector<double>> zeros_for(const Descent& descent, const std::vector<std::string>& labels) {
  std::map<std::string, std::vector<double>> sums;
  for (const std::string& label : labels) sums[label].resize(static_cast<size_t>(descent.value(label).elements()));
  return sums;
}

std::map<std::string, Tensor> as_tensors(const Descent& descent,
                                         const std::map<std::string, std::vector<double>>& sums) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [label, values] : sums)
    tensors[label] = Tensor::from_doubles(DType::f32, descent.value(label).shape(), values);
  return tensors;
}

}  // namespace

std::map<std::string, Tensor> loss_gradients(const Graph& graph, const std::vector<std::string>& labels,
                                             const LossData& data, const SessionOptions& session) {
  Descent descent(graph, labels, data, session);
  auto sums = zeros_for(descent, labels);
  const double share = 1 / static_cast<double>(data.batches.size());
  for (const NamedTensors& batch : data.batches)
    for (const auto& [label, gradient] : descent.gradients(batch)) {
      const std::span<const float> d = gradient.as<float>();
      for (size_t i = 0; i < d.size(); ++i) sums[label][i] += share * d[i];
    }
  return as_tensors(descent, sums);
}

std::map<std::string, Tensor> weight_movements(const Graph& graph, const std::vector<std::string>& labels,
                                               const LossData& data, double rate, const SessionOptions& session) {
  Descent descent(graph, labels, data, session);
  auto sums = zeros_for(descent, labels);
  for (const NamedTensors& batch : data.batches) {
    const std::map<std::string, Tensor> gradients = descent.gradients(batch);
    for (const auto& [label, gradient] : gradients) {
      const std::span<const float> d = gradient.as<float>(), w = descent.value(label).as<float>();
      for (size_t i = 0; i < d.size(); ++i) sums[label][i] -= rate * static_cast<double>(w[i]) * d[i];
    }
    descent.step(gradients, rate);
  }
  return as_tensors(descent, sums);
}

}  // namespace hone
