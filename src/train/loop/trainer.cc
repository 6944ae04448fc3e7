#include "train/loop/trainer.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "measure/memory.h"
#include "train/loop/checkpoint.h"

namespace hone {
namespace {

int64_t rows_of(const NamedTensors& part) { return part.at(TrainNames::kLabels).dim(0); }

bool accumulates(const TrainGraphs& graphs) { return !graphs.gradients.outputs().empty(); }

bool takes(const Graph& graph, const char* label) {
  return std::ranges::any_of(graph.inputs(), [&](ValueId input) { return graph.value(input).label == label; });
}

double number_in(const Tensor& tensor) { return tensor.to_doubles().at(0); }

}  // namespace

Trainer::Trainer(TrainGraphs graphs, const SessionOptions& options, const Ranks* ranks)
    : graphs_(std::move(graphs)), ranks_(ranks) {
  CHECK(!ranks_ || accumulates(graphs_));
  const int64_t before = memory_use().resident_bytes;
  SessionOptions shared = options;
  const auto note_state = [&](const Graph& graph) {
    for (ValueId input : graph.inputs()) {
      const Value& value = graph.value(input);
      if (value.role != InputRole::state || std::ranges::count(state_, value.label, &Held::name)) continue;
      state_.push_back({value.label, value.type, std::ranges::count(graphs_.sums, value.label) > 0});
    }
  };
  const auto open = [&](const Graph& graph) {
    note_state(graph);
    return std::make_unique<Session>(graph, shared);
  };
  const bool in_parts = accumulates(graphs_);
  const Graph& main_graph = in_parts ? graphs_.gradients : graphs_.step;
  note_state(main_graph);
  main_.emplace(main_graph, graphs_.sizes, graphs_.for_sizes, graphs_.evaluate, options);
  shared.parameters_of = &main();
  if (in_parts) update_ = open(graphs_.update);
  evaluate_ = open(graphs_.evaluate);
  opened_bytes_ = std::max<int64_t>(memory_use().resident_bytes - before, 0);
  own_parameters();
  set_zero_state();
}

// Weights of a mapped file are copied, so that the file's pages are not in memory beside them.
void Trainer::own_parameters() {
  for (const std::string& name : evaluate_->parameter_names())
    if (const Tensor value = evaluate_->parameter(name); value.data().is_mapped())
      main().set_parameters({{name, own_copy(value)}});
}

std::vector<Tensor> Trainer::run(Session& session, const NamedTensors& inputs, bool checked) {
  return checked ? session.run_checked(context_, inputs) : session.run(context_, inputs);
}

Trainer::Step Trainer::outputs_of(const Session& session, std::vector<Tensor> outputs, size_t first) const {
  const std::vector<std::string> names = session.output_names();
  Step step;
  for (size_t i = first; i < names.size(); ++i) {
    if (names[i] == TrainNames::kLoss) step.loss = number_in(outputs[i]);
    else if (names[i] == TrainNames::kNorm) step.norm = number_in(outputs[i]);
  }
  return step;
}

// Sums over ranks are under way from when they are there to the end of the run.
std::vector<Tensor> Trainer::run_last_part(Session& session, const NamedTensors& inputs, bool checked) {
  if (!ranks_) return run(session, inputs, checked);
  OrderedSum sum(*ranks_);
  std::set<size_t> begun;
  const auto begin = [&](const std::string& name, std::span<std::byte> bytes) {
    const auto found = std::ranges::find(graphs_.sums, name);
    if (found == graphs_.sums.end()) return;  // statistics of batch norms, which are of all ranks
    const auto number = static_cast<size_t>(found - graphs_.sums.begin());
    begun.insert(number);
    sum.begin(static_cast<int>(number), {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)});
    sum.progress();
  };
  std::vector<Tensor> outputs =
      checked ? session.run_checked(context_, inputs) : session.run(context_, inputs, UpdateWritten(begin));
  std::map<std::string, Tensor> others;
  for (size_t i = 0; i < graphs_.sums.size(); ++i) {
    if (begun.contains(i)) continue;
    Tensor& own = others[graphs_.sums[i]] = own_copy(context_.state(graphs_.sums[i]));
    begin(graphs_.sums[i], std::as_writable_bytes(own.mutable_as<float>()));
  }
  sum.finish();
  for (auto& [name, tensor] : others) context_.set_state(name, std::move(tensor));
  return outputs;
}

Trainer::Step Trainer::step(std::span<const NamedTensors> parts, double rate, bool checked, int64_t first,
                            const BeforeUpdate& before_update) {
  CHECK(!parts.empty() && (update_ || (parts.size() == 1 && !before_update)));
  if (has_evaluated_) evaluate_->forget_laid_out();  // updates are in place again
  has_evaluated_ = false;
  NamedTensors numbers{{TrainNames::kRate, Tensor::scalar(static_cast<float>(rate))},
                       {TrainNames::kStep, Tensor::scalar(static_cast<float>(steps_ + 1))}};
  Step step;
  if (update_) {
    std::vector<Tensor> predictions;
    int64_t sample = first;
    for (const NamedTensors& part : parts) {
      NamedTensors inputs = part;
      if (takes(graphs_.gradients, TrainNames::kKeep)) inputs[TrainNames::kKeep] = Tensor::scalar(!predictions.empty());
      if (takes(graphs_.gradients, TrainNames::kSample)) {
        inputs[TrainNames::kSample] = Tensor::scalar(sample);
        inputs[TrainNames::kStep] = numbers.at(TrainNames::kStep);
      }
      sample += rows_of(part);
      const bool is_last = &part == &parts.back();
      Session& session = main_->of(part);
      predictions.push_back((is_last ? run_last_part(session, inputs, checked) : run(session, inputs, checked))[0]);
    }
    main_->forget_laid_out();
    if (before_update) before_update(context_, predictions);
    step = outputs_of(*update_, run(*update_, numbers, checked), 0);
    step.predictions = std::move(predictions);
  } else {
    numbers.insert(parts[0].begin(), parts[0].end());
    if (takes(graphs_.step, TrainNames::kSample)) numbers[TrainNames::kSample] = Tensor::scalar(int64_t{0});
    Session& session = main_->of(parts[0]);
    std::vector<Tensor> outputs = run(session, numbers, checked);
    step = outputs_of(session, outputs, 1);
    step.predictions.push_back(std::move(outputs[0]));
  }
  ++steps_;
  return step;
}

Trainer::Evaluation Trainer::evaluate(const NamedTensors& inputs) {
  has_evaluated_ = true;
  std::vector<Tensor> outputs = evaluate_->run(context_, inputs);
  return {std::move(outputs[0]), number_in(outputs[1]), number_in(outputs[2])};
}

TrainingMemory Trainer::plan(const TrainingSizes& sizes) {
  const int64_t before = memory_use().resident_bytes;
  TrainingMemory memory;
  int64_t most = -1;
  // The context's memory is that of one session at a time.
  const auto consider = [&](const SessionStatistics& session, int64_t data) {
    const int64_t bytes =
        session.arena_bytes + session.scratch_bytes + session.laid_out_bytes + session.output_bytes + data;
    if (bytes <= most) return;
    most = bytes;
    memory.values = session.arena_bytes, memory.scratch = session.scratch_bytes;
    memory.laid_out = session.laid_out_bytes, memory.outputs = session.output_bytes;
    memory.data = data;
  };
  int64_t largest = 0;
  for (const std::string& name : evaluate_->parameter_names()) {
    const int64_t bytes = evaluate_->parameter(name).bytes();
    memory.parameters += bytes;
    largest = std::max(largest, bytes);
  }
  for (const Held& held : state_) {
    const int64_t bytes = element_count(constant_shape(held.type.shape)) * size_bytes(held.type.dtype);
    memory.state += bytes;
    if (ranks_ && held.is_sum) memory.exchange += OrderedSum::most_bytes(bytes, ranks_->size());
  }
  main().prepare(sizes.step, Session::Code::any_sizes);
  consider(main().statistics(), sizes.step_data);
  memory.constants = main().statistics().prepacked_bytes;
  if (update_) {
    update_->prepare({}, Session::Code::any_sizes);
    consider(update_->statistics(), sizes.step_data);
  }
  if (sizes.validation) {
    evaluate_->prepare(*sizes.validation, Session::Code::any_sizes);
    SessionStatistics judging = evaluate_->statistics();
    consider(judging, sizes.validation_data);
    judging.laid_out_bytes = 0;  // goes before the best weights are put back, tensor by tensor
    consider(judging, largest);
    memory.constants += evaluate_->statistics().prepacked_bytes;
  }
  memory.code = opened_bytes_ + std::max<int64_t>(memory_use().resident_bytes - before - memory.constants, 0);
  memory.constants += main().statistics().direct_weight_bytes;
  return memory;
}

std::map<std::string, Tensor> Trainer::tensors() const {
  std::map<std::string, Tensor> tensors;
  for (auto& [name, tensor] : parameters()) tensors.emplace("parameter/" + name, std::move(tensor));
  for (const Held& held : state_)
    if (!held.is_sum) tensors.emplace("state/" + held.name, context_.state(held.name));
  return tensors;
}

void Trainer::restore(const std::map<std::string, Tensor>& tensors, int64_t steps, const std::string& source) {
  const auto find = [&](const std::string& name, const TensorType& type) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) fail("{}: lacks \"{}\"; it is of another model or optimizer", source, name);
    if (found->second.type() != type)
      fail("{}: \"{}\" is {}; the model has {}", source, name, to_string(found->second.type()), to_string(type));
    return found->second;
  };
  const Graph& graph = graphs_.evaluate;
  NamedTensors parameters, states;
  for (ValueId input : graph.inputs())
    if (const Value& value = graph.value(input); value.role == InputRole::parameter)
      parameters[value.label] = find("parameter/" + value.label, value.type);
  for (const Held& held : state_)
    if (!held.is_sum) states[held.name] = find("state/" + held.name, held.type);
  if (tensors.size() != parameters.size() + states.size())
    fail("{}: holds {} tensors; the model and its optimizer have {}", source, tensors.size(),
         parameters.size() + states.size());
  evaluate_->forget_laid_out();
  for (const auto& [name, tensor] : states) context_.set_state(name, Tensor());  // what is old goes first
  for (const auto& [name, tensor] : parameters) main().set_parameters({{name, own_copy(tensor)}});
  for (const auto& [name, tensor] : states) context_.set_state(name, own_copy(tensor));
  steps_ = steps;
}

void Trainer::change_parameters(const std::function<Tensor(const std::string& name, const Tensor& value)>& change) {
  evaluate_->forget_laid_out();
  for (const auto& [name, value] : parameters()) main().set_parameters({{name, own_copy(change(name, value))}});
}

void Trainer::reset() {
  NamedTensors initial;
  for (ValueId input : graphs_.evaluate.inputs())
    if (const Value& value = graphs_.evaluate.value(input); value.role == InputRole::parameter)
      initial[value.label] = *value.initial;
  main().set_parameters(initial);
  own_parameters();
  set_zero_state();
  steps_ = 0;
}

void Trainer::set_zero_state() {
  for (const Held& held : state_)
    context_.set_state(held.name, Tensor(held.type.dtype, constant_shape(held.type.shape)));
}

std::vector<std::pair<std::string, Tensor>> Trainer::parameters() const {
  std::vector<std::pair<std::string, Tensor>> all;
  for (const std::string& name : evaluate_->parameter_names()) all.emplace_back(name, evaluate_->parameter(name));
  return all;
}

}  // namespace hone
