#include "train/train_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>

#include "base/error.h"
#include "base/hash.h"
#include "base/regex.h"
#include "base/text.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/batch_norm.h"
#include "ops/calls/batch_norm_train.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/conv.h"
#include "ops/calls/dropout_train.h"
#include "ops/calls/full.h"
#include "ops/calls/linear.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/rounding.h"
#include "ops/calls/transcendental.h"
#include "ops/rules.h"
#include "passes/compress/lora.h"
#include "passes/compress/quantize.h"
#include "passes/differentiate.h"
#include "passes/pipelines.h"
#include "train/recompute.h"
#include "train/sized_graph.h"
#include "train/synchronised_norm.h"

namespace hone {
namespace {

using Names = TrainNames;

// Parameters of one rate and decay, by the label of each in every graph.
struct Group {
  double rate_factor, decay;
  bool lazy;
  std::vector<std::string> labels;
};

// And what is computed for it: where it is read of one token, nothing of the last layer is for the others.
// Compared layers are kept, too, behind it.
void keep_only_output(Graph& graph, const std::string& label) {
  std::vector<Output> kept{*std::ranges::find(graph.outputs(), label, &Output::label)};
  const std::vector<ValueId> layers = compared_layers(graph);
  for (size_t i = 0; i < layers.size(); ++i) kept.push_back({layers[i], TeacherNames::layer(i)});
  graph.set_outputs(std::move(kept));
  graph = run_passes(std::move(graph), {"remove_dead", "raise_slices", "merge_common", "remove_dead"});
  const std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  for (ValueId input : inputs)
    if (graph.use_count(input) == 0) graph.erase_input(input);
}

void widen(Graph& graph, ValueId constant) {
  if (graph.type(constant).dtype == DType::f32) return;
  graph.set_constant(constant, graph.constant(constant)->converted(DType::f32));
}

ValueId input_called(const Graph& graph, const std::string& label) {
  for (ValueId input : graph.inputs())
    if (graph.value(input).label == label) return input;
  CHECK(false, "graph {} has no input {}", graph.name, label);
}

ValueId square_sum(Graph& graph, ValueId x) {
  return ops::reduce_sum(graph, {.x = ops::mul(graph, {.a = x, .b = x}), .keepdims = 0});
}

// The gradients with values and norm limited as asked for; the norm becomes an output.
void clip_gradients(Graph& graph, std::vector<ValueId>& gradients, const TrainGraphOptions& options) {
  if (options.clip_value > 0)
    for (ValueId& g : gradients) g = ops::clip(graph, {.x = g, .min = -options.clip_value, .max = options.clip_value});
  if (options.clip_norm == 0) return;
  constexpr double kTiny = 1e-6;  // as torch.nn.utils.clip_grad_norm_ adds it
  ValueId squares = kNone;
  for (ValueId g : gradients) {
    const ValueId more = square_sum(graph, g);
    squares = squares == kNone ? more : ops::add(graph, {.a = squares, .b = more});
  }
  const ValueId norm = ops::sqrt(graph, {squares}), limit = graph.add_scalar(static_cast<float>(options.clip_norm)),
                one = graph.add_scalar(1.0f), tiny = graph.add_scalar(static_cast<float>(kTiny));
  const ValueId share = ops::div(graph, {.a = limit, .b = ops::add(graph, {.a = norm, .b = tiny})});
  const ValueId scale = ops::min(graph, {.a = share, .b = one});
  for (ValueId& g : gradients) g = ops::mul(graph, {.a = g, .b = scale});
  graph.add_output(norm, Names::kNorm);
}

bool has_input(const Graph& graph, const std::string& label) {
  return std::ranges::any_of(graph.inputs(), [&](ValueId input) { return graph.value(input).label == label; });
}

ValueId number_input(Graph& graph, const char* label, DType dtype) {
  return has_input(graph, label) ? input_called(graph, label) : graph.add_input(label, plain_type(dtype, {}));
}

Dim values_of_a_channel(const TensorType& x) {
  Shape others = x.shape;
  others.erase(others.begin() + 1);
  return element_count(others);
}

// A batch_norm whose running statistics are parameters goes by those of the batch, which they follow.
void train_batch_norms(Graph& graph, int ranks) {
  for (NodeId id : graph.nodes(batch_norm_train_def))
    if (ranks > 1)
      fail(
          "%{}: a batch norm whose running statistics are no weights goes by one process's part of a batch; train it "
          "by one process",
          graph.value(graph.result(id)).name);
  for (NodeId id : graph.nodes(batch_norm_def)) {
    const Node node = graph.node(id);
    const ValueId mean = node.operands[3], variance = node.operands[4];
    if (graph.value(mean).role != InputRole::parameter || graph.value(variance).role != InputRole::parameter) continue;
    graph.set_insertion_point(id);
    SynchronisedNorm made{};
    if (ranks > 1) {
      made = synchronised_norm(graph, node);
    } else {
      Call call{.op = &batch_norm_train_def, .operands = node.operands, .attributes = node.attributes};
      const std::vector<ValueId> results = graph.emit_all(std::move(call));
      made = {.y = results[0], .running_mean = results[3], .running_variance = results[4]};
    }
    graph.set_insertion_point(kNone);
    graph.replace_all_uses(node.results[0], made.y);
    graph.erase(id);
    graph.add_update(mean, made.running_mean);
    graph.add_update(variance, made.running_variance);
  }
}

// What the node reads first goes through dropout, each element by its place in its sample.
void drop_inputs(Graph& graph, NodeId reader, double rate, uint64_t seed) {
  const ValueId x = graph.operand(reader, 0);
  const Shape shape = graph.type(x).shape;
  Shape rows(shape.size(), Dim(1)), places = shape;
  rows[0] = shape[0];
  places[0] = 1;
  graph.set_insertion_point(reader);
  const ValueId first = number_input(graph, Names::kSample, DType::i64),
                step = ops::cast(graph, {.x = number_input(graph, Names::kStep, DType::f32), .dtype = DType::i64});
  const ValueId sample =
      ops::add(graph, {.a = ops::iota(graph, {.shape = rows, .axis = 0, .dtype = DType::i64}), .b = first});
  const ValueId count = ops::iota(graph, {.shape = Shape{element_count(places)}, .axis = 0, .dtype = DType::i64});
  const ValueId kept = ops::dropout_train(graph, {.x = x,
                                                  .seed = graph.add_scalar(static_cast<int64_t>(seed)),
                                                  .step = step,
                                                  .sample = sample,
                                                  .place = ops::reshape(graph, {.x = count, .shape = places}),
                                                  .rate = rate});
  graph.set_insertion_point(kNone);
  graph.set_operand(reader, 0, kept);
}

void drop_inputs_of_last(Graph& graph, ValueId predictions, double rate, uint64_t seed) {
  const NodeId last = graph.producer(predictions);
  if (last == kNone || graph.node(last).op != &linear_def)
    fail(
        "dropout stands before the last linear layer, and the predictions come from none; dropout-layers names others");
  drop_inputs(graph, last, rate, seed);
}

// Of linear layers and convolutions whose weights have such names; each has masks of its own.
template <class IsChosen>
void drop_inputs_of(Graph& graph, double rate, uint64_t seed, const IsChosen& is_chosen) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (node.op != &linear_def && node.op != &conv_def) continue;
    const std::string& weight = graph.value(unrounded(graph, node.operands[1])).label;
    if (graph.value(node.operands[0]).kind == ValueKind::result && is_chosen(weight))
      drop_inputs(graph, id, rate, seed ^ hash_text(weight));
  }
}

void drop_inputs_of(Graph& graph, const std::vector<std::string>& patterns, double rate, uint64_t seed) {
  std::vector<Regex> names(patterns.begin(), patterns.end());
  std::vector<bool> used(names.size(), false);
  drop_inputs_of(graph, rate, seed, [&](const std::string& label) {
    bool any = false;
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i].search(label)) any = used[i] = true;
    return any;
  });
  for (size_t i = 0; i < names.size(); ++i)
    if (!used[i])
      fail("dropout-layers \"{}\": no linear layer or convolution behind another layer has a weight of such a name",
           patterns[i]);
}

bool is_adapter(const std::string& label) { return label.ends_with(".lora_A.weight"); }

// Of a table [rows,columns]: boolean [rows,1].
ValueId rows_with_gradient(Graph& graph, ValueId gradient) {
  const ValueId most =
      ops::reduce_max(graph, {.x = ops::abs(graph, {gradient}), .axes = std::vector<int64_t>{1}, .keepdims = 1});
  return ops::not_equal(graph, {.a = most, .b = graph.add_scalar(0.0f)});
}

// Updates of all parameters; `gradients` are in the order of the groups' labels.
void add_optimizer(Graph& graph, const std::vector<Group>& groups, std::vector<ValueId> gradients,
                   const TrainGraphOptions& options) {
  const ValueId rate = graph.add_input(Names::kRate, plain_type(DType::f32, {})),
                step = number_input(graph, Names::kStep, DType::f32);
  clip_gradients(graph, gradients, options);
  auto gradient = gradients.begin();
  for (const Group& group : groups) {
    std::vector<Trained> parameters;
    for (const std::string& label : group.labels) {
      Trained& parameter = parameters.emplace_back(Trained{input_called(graph, label), *gradient++});
      if (group.lazy) parameter.moved = rows_with_gradient(graph, parameter.gradient);
    }
    const ValueId own_rate =
        group.rate_factor == 1
            ? rate
            : ops::mul(graph, {.a = rate, .b = graph.add_scalar(static_cast<float>(group.rate_factor))});
    GroupStep of_group(graph, own_rate, step, group.decay, parameters);
    options.optimizer->step(of_group, options.optimizer_options);
  }
}

std::string sum_label(const std::string& parameter) { return state_label(parameter, "gradients"); }

// sum2 = keep ? sum + value : value, and without `keep` the value.
void accumulate(Graph& graph, ValueId keep, const std::string& label, ValueId value) {
  const ValueId sum = graph.add_state(label, graph.type(value));
  if (keep == kNone) return graph.add_update(sum, value);
  const ValueId kept = ops::where(graph, {.condition = keep, .a = sum, .b = graph.add_scalar(0.0f)});
  graph.add_update(sum, ops::add(graph, {.a = kept, .b = value}));
}

class Builder {
 public:
  Builder(Graph model, const TrainGraphOptions& options) : model_(std::move(model)), options_(options) {
    CHECK(options_.optimizer);
    for (double limit : {options_.clip_norm, options_.clip_value})
      if (!(limit >= 0) || !std::isfinite(limit)) fail("a limit of gradients is {}; accepted: 0 and above", limit);
    made_.predictions = predictions_label(model_, options_.predictions);
    const std::vector<StoredTensor> stored = stored_tensors(model_);
    keep_only_output(model_, made_.predictions);
    for (double rate : {options_.dropout, options_.adapter_dropout})
      if (!(rate >= 0 && rate < 1)) fail("dropout is {}; accepted: 0 to below 1", rate);
    if (options_.dropout == 0 && !options_.dropout_layers.empty())
      fail("dropout-layers names layers, and dropout is 0: what share of what they read is left out?");
    choose_parameters(stored);
    choose_statistics();
    model_ = run_pass(std::move(model_), "fold_fake_quant", {.packer = options_.packer});  // what is rounded once
  }

  // The closure that gives graphs for other sizes has the builder for itself.
  static TrainGraphs build(std::shared_ptr<Builder> builder) {
    TrainGraphs graphs = builder->build();
    if (!graphs.sizes.empty())
      graphs.for_sizes = [builder](const Bindings& sizes) {
        return builder->main_graph(with_sizes(builder->model_, sizes));
      };
    return graphs;
  }

 private:
  TrainGraphs build() {
    made_.evaluate = without_compared_layers(model_);
    made_.evaluate.name = "evaluate";
    const LossTerms terms = loss_of(made_.evaluate);
    made_.evaluate.add_output(terms.sum, Names::kLossSum);
    made_.evaluate.add_output(terms.count, Names::kCount);
    std::function<Bindings()> sizes;
    if (options_.sizes) sizes = [this] { return options_.sizes(made_.evaluate); };
    SizedGraph main = make_sized(
        model_, [this](Graph model) { return main_graph(std::move(model)); }, sizes);
    made_.sizes = std::move(main.sizes);
    if (!in_parts()) {
      made_.step = std::move(main.graph);
    } else {
      made_.gradients = std::move(main.graph);
      made_.sums = {Names::kLossSum, Names::kCount};
      for (const TrainedParameter& p : made_.parameters) made_.sums.push_back(sum_label(p.name));
      build_update();
    }
    return made_;
  }

  bool in_parts() const { return options_.accumulate || options_.ranks > 1; }

  // That which has the model's gradients, of the model or of it for certain sizes.
  Graph main_graph(Graph model) const {
    return in_parts() ? gradients_graph(std::move(model)) : step_graph(std::move(model));
  }

  // `stored`: the tensors of the whole model, of which the predictions may read some.
  void choose_parameters(const std::vector<StoredTensor>& stored) {
    TrainableConstants chosen = choose_trainable(model_, options_.groups);
    for (ValueId id : chosen.frozen) made_.frozen.push_back(model_.value(id).label);
    leave_out_unreached(chosen);
    made_.others = std::move(chosen.others);
    for (StoredTensor tensor : stored) {
      if (!tensor.why_not.empty() || model_.find_constant(tensor.name) != kNone) continue;
      tensor.why_not = "the predictions do not depend on it";
      made_.others.push_back(std::move(tensor));
    }
    for (const ParameterGroup& group : chosen.groups) {
      Group& of_labels = groups_.emplace_back(Group{group.rate_factor, group.decay, group.lazy, {}});
      for (ValueId id : group.parameters) {
        widen(model_, id);
        const std::string label = model_.value(id).label;
        made_.parameters.push_back({label, group.rate_factor, group.decay, model_.constant(id)->elements()});
        of_labels.labels.push_back(label);
        model_.make_parameter(id);
      }
    }
    model_.reinfer();
  }

  // What predictions follow from in steps alone has no gradient, and an optimizer would let it decay.
  void leave_out_unreached(TrainableConstants& chosen) {
    std::vector<ValueId> all;
    for (const ParameterGroup& group : chosen.groups)
      all.insert(all.end(), group.parameters.begin(), group.parameters.end());
    const std::vector<ValueId> reached = trainability(model_, all).reached;
    const auto is_unreached = [&](ValueId id) { return std::ranges::count(reached, id) == 0; };
    for (ValueId id : all)
      if (is_unreached(id))
        chosen.others.push_back({.id = id,
                                 .name = model_.value(id).label,
                                 .shape = model_.constant(id)->shape(),
                                 .ops = {},
                                 .why_not = "the predictions do not follow smoothly from it"});
    for (ParameterGroup& group : chosen.groups) std::erase_if(group.parameters, is_unreached);
    if (reached.empty())
      fail("nothing can be trained: the predictions follow smoothly from none of {} weights", all.size());
  }

  // Batch norms whose scale is trained are in training; others stay as they are.
  void choose_statistics() {
    for (NodeId id : model_.nodes(batch_norm_def)) {
      const Node& node = model_.node(id);
      if (model_.value(node.operands[1]).role != InputRole::parameter) continue;
      if (const TensorType& x = model_.type(node.operands[0]); x.ranked)
        made_.norms.push_back({model_.value(node.operands[1]).label, values_of_a_channel(x)});
      for (size_t i : {3u, 4u}) {
        const ValueId statistic = node.operands[i];
        if (model_.value(statistic).kind != ValueKind::constant) continue;
        widen(model_, statistic);
        made_.statistics.push_back(model_.value(statistic).label);
        model_.make_parameter(statistic);
      }
    }
    model_.reinfer();
  }

  // The model as it is in training.
  Graph training_form(Graph graph, const char* name) const {
    graph.name = name;
    train_batch_norms(graph, options_.ranks);
    if (options_.dropout > 0 && options_.dropout_layers.empty())
      drop_inputs_of_last(graph, graph.outputs()[0].value, options_.dropout, options_.seed);
    else if (options_.dropout > 0) drop_inputs_of(graph, options_.dropout_layers, options_.dropout, options_.seed);
    if (options_.adapter_dropout > 0) drop_inputs_of(graph, options_.adapter_dropout, options_.seed, is_adapter);
    return graph;
  }

  LossTerms loss_of(Graph& graph) const {
    return add_loss(graph, graph.outputs()[0].value, Names::kLabels, options_.loss);
  }

  // Of labels and of a teacher's outputs; layers that are compared are outputs no more.
  LossTerms training_loss(Graph& graph) const {
    const LossTerms of_labels = loss_of(graph);
    if (!options_.distillation) return of_labels;
    const std::vector<ValueId> layers = compared_layers(graph);
    std::vector<Output> outputs(graph.outputs().begin(), graph.outputs().end());
    std::erase_if(outputs, is_compared_layer);
    graph.set_outputs(outputs);
    return add_distillation(graph, of_labels, outputs[0].value, layers, options_.loss.loss, *options_.distillation);
  }

  std::vector<ValueId> gradients_of(Graph& graph, ValueId loss) const {
    std::vector<NodeId> forward(graph.nodes().begin(), graph.nodes().end());
    std::vector<ValueId> parameters;
    for (const TrainedParameter& p : made_.parameters) parameters.push_back(input_called(graph, p.name));
    std::vector<ValueId> gradients = differentiate(graph, loss, parameters, dora_lengths(graph));
    if (options_.keep_zeros) drop_gradients_of_zeros(graph, parameters, gradients);
    if (options_.recompute > 0) {
      const std::vector<NodeId> copies = recompute_activations(graph, forward, parameters, options_.recompute);
      forward.insert(forward.end(), copies.begin(), copies.end());
    }
    keep_passes_apart(graph, forward);
    return gradients;
  }

  // No optimizer moves a 0 whose gradients are 0.
  static void drop_gradients_of_zeros(Graph& graph, std::span<const ValueId> parameters,
                                      std::vector<ValueId>& gradients) {
    for (size_t i = 0; i < gradients.size(); ++i) {
      const Tensor& initial = *graph.value(parameters[i]).initial;
      const std::vector<float> values = initial.to_floats();
      if (initial.shape().size() < 2 || std::ranges::count(values, 0.0f) == 0) continue;
      Tensor stays(DType::boolean, initial.shape());
      std::ranges::transform(values, stays.mutable_as<bool>().begin(), [](float v) { return v != 0; });
      gradients[i] = ops::where(
          graph,
          {.condition = graph.add_constant("", std::move(stays)), .a = gradients[i], .b = graph.add_scalar(0.0f)});
    }
  }

  Graph step_graph(Graph model) const {
    Graph graph = training_form(std::move(model), "step");
    const LossTerms terms = training_loss(graph);
    const ValueId loss = ops::div(graph, {.a = terms.sum, .b = terms.count});
    graph.add_output(loss, Names::kLoss);
    add_optimizer(graph, groups_, gradients_of(graph, loss), options_);
    return graph;
  }

  Graph gradients_graph(Graph model) const {
    Graph graph = training_form(std::move(model), "gradients");
    const LossTerms terms = training_loss(graph);
    const std::vector<ValueId> gradients = gradients_of(graph, terms.sum);
    const ValueId keep = options_.accumulate ? graph.add_input(Names::kKeep, plain_type(DType::boolean, {})) : kNone;
    accumulate(graph, keep, Names::kLossSum, terms.sum);
    accumulate(graph, keep, Names::kCount, terms.count);
    for (size_t i = 0; i < gradients.size(); ++i)
      accumulate(graph, keep, sum_label(made_.parameters[i].name), gradients[i]);
    return graph;
  }

  void build_update() {
    Graph& graph = made_.update;
    graph.name = "update";
    const ValueId sum = graph.add_state(Names::kLossSum, plain_type(DType::f32, {})),
                  count = graph.add_state(Names::kCount, plain_type(DType::f32, {}));
    std::vector<ValueId> gradients;
    for (const TrainedParameter& p : made_.parameters) {
      const Value& value = model_.value(input_called(model_, p.name));
      graph.add_parameter(p.name, *value.initial);
      gradients.push_back(graph.add_state(sum_label(p.name), value.type));
    }
    for (const std::string& label : made_.statistics)
      graph.add_parameter(label, *model_.value(input_called(model_, label)).initial);
    const ValueId part = ops::div(graph, {.a = graph.add_scalar(1.0f), .b = count});
    for (ValueId& g : gradients) g = ops::mul(graph, {.a = g, .b = part});
    graph.add_output(ops::div(graph, {.a = sum, .b = count}), Names::kLoss);
    add_optimizer(graph, groups_, gradients, options_);
  }

  Graph model_;
  const TrainGraphOptions options_;
  TrainGraphs made_;
  std::vector<Group> groups_;
};

}  // namespace

std::string predictions_label(const Graph& model, const std::string& wanted) {
  std::vector<std::string> labels;
  for (const Output& output : model.outputs())
    if (output.updates == kNone) labels.push_back(output.label);
  const auto has = [&](const std::string& label) { return std::ranges::find(labels, label) != labels.end(); };
  if (!wanted.empty() && !has(wanted))
    fail("the model has no output \"{}\"; it has {}{}", wanted, fmt::join(labels, ", "), did_you_mean(wanted, labels));
  if (!wanted.empty()) return wanted;
  if (has("logits")) return "logits";
  if (labels.size() != 1)
    fail("the model has the outputs {}; say which one holds the predictions", fmt::join(labels, ", "));
  return labels[0];
}

TrainGraphs make_train_graphs(Graph model, const TrainGraphOptions& options) {
  return Builder::build(std::make_shared<Builder>(std::move(model), options));
}

Graph with_trained(Graph model, const std::vector<std::pair<std::string, Tensor>>& values) {
  for (const auto& [name, tensor] : values) {
    const ValueId constant = model.find_constant(name);
    CHECK(constant != kNone, "the model has no constant {}", name);
    model.set_constant(constant, tensor);
  }
  model.reinfer();
  return model;
}

}  // namespace hone
