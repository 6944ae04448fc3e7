#include "train/supernet.h"

#include <algorithm>

#include "base/error.h"

namespace hone {
namespace {

TrainGraphOptions accumulating(TrainGraphOptions options) {
  options.accumulate = true;
  return options;
}

}  // namespace

SupernetTrainer::SupernetTrainer(Graph whole, const SupernetOptions& options)
    : whole_(std::move(whole)),
      options_(options),
      trainer_(make_train_graphs(whole_, accumulating(options.graphs)), options.session) {}

size_t SupernetTrainer::add(const Graph& part) {
  require_nested(part, whole_);
  TrainGraphOptions options = accumulating(options_.graphs);
  if (options_.distil.weight > 0) options.distillation = options_.distil;
  const TrainGraphs graphs = make_train_graphs(part, options);
  Part& made = parts_.emplace_back();
  for (const TrainedParameter& p : graphs.parameters)
    made.weights[p.name] =
        *nested_part(part, part.find_constant(p.name), whole_.constant(whole_.find_constant(p.name))->shape());
  // Losses and counts, which have no axes, and the gradient of each parameter.
  const size_t numbers = graphs.sums.size() - graphs.parameters.size();
  for (size_t i = 0; i < graphs.sums.size(); ++i)
    made.sums.emplace_back(graphs.sums[i],
                           i < numbers ? NestedPart() : made.weights.at(graphs.parameters[i - numbers].name));
  for (ValueId input : graphs.gradients.inputs())
    if (const Value& value = graphs.gradients.value(input); value.role == InputRole::state)
      made.states.emplace_back(value.label, value.type);
  made.session = std::make_unique<Session>(graphs.gradients, options_.session);
  return parts_.size() - 1;
}

void SupernetTrainer::add_gradients(Part& part, NamedTensors batch, Context& sums, const Tensor& predictions) {
  NamedTensors weights;
  for (const auto& [name, tensor] : trainer_.parameters())
    if (const auto found = part.weights.find(name); found != part.weights.end())
      weights[name] = cut(tensor, found->second);
  part.session->set_parameters(weights);
  for (const auto& [name, type] : part.states) context_.set_state(name, Tensor(type.dtype, constant_shape(type.shape)));
  if (options_.distil.weight > 0) batch[TeacherNames::kPredictions] = predictions;
  batch[TrainNames::kKeep] = Tensor::scalar(false);
  part.session->run(context_, batch);
  part.session->forget_laid_out();
  for (const auto& [name, block] : part.sums) {
    Tensor sum = sums.state(name);
    sums.set_state(name, Tensor());  // so that it is added to where it lies
    add_to(sum, block, context_.state(name));
    sums.set_state(name, std::move(sum));
  }
}

double SupernetTrainer::step(std::span<const size_t> parts, const NamedTensors& batch, double rate) {
  const auto add_all = [&](Context& sums, std::span<const Tensor> predictions) {
    for (const size_t number : parts) add_gradients(parts_.at(number), batch, sums, predictions[0]);
  };
  return trainer_.step(std::span(&batch, 1), rate, false, 0, add_all).loss;
}

Graph SupernetTrainer::trained() const { return with_trained(whole_, trainer_.parameters()); }

}  // namespace hone
