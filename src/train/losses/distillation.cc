#include "train/losses/distillation.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/cast.h"
#include "ops/calls/full.h"
#include "ops/calls/linear.h"
#include "ops/calls/matmul.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/softmax.h"
#include "ops/calls/transpose.h"
#include "ops/rules.h"
#include "passes/compress/quantize.h"
#include "passes/layer.h"
#include "passes/pipelines.h"
#include "train/initialise.h"

namespace hone {
namespace {

ValueId number(Graph& g, double value) { return g.add_scalar(static_cast<float>(value)); }
ValueId total(Graph& g, ValueId x) { return ops::reduce_sum(g, {.x = x, .keepdims = 0}); }

// By the weight that it reads, rounded or not, else by its result.
std::string name_of_layer(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  for (size_t i = 0; i < node.operands.size(); ++i) {
    if (!node.op->operands.of(i).weight || node.operands[i] == kNone) continue;
    const ValueId weight = unrounded(graph, node.operands[i]);
    if (graph.constant(weight) && !graph.value(weight).label.empty()) return layer_name(graph.value(weight).label);
  }
  return graph.value(node.results[0]).name;
}

NodeId find_layer(const Graph& graph, const std::string& name, const std::string& whose) {
  std::vector<std::string> names;
  NodeId found = kNone;
  for (NodeId id : graph.nodes()) {
    const OpDef& op = *graph.node(id).op;
    if (op.operands.factors() == 0) continue;
    names.push_back(name_of_layer(graph, id));
    if (names.back() != name) continue;
    if (found != kNone) fail("distill-layers: \"{}\" names several layers of {}, which share a weight", name, whose);
    found = id;
  }
  if (found == kNone) {
    if (names.size() > 12) names.resize(12), names.emplace_back("…");
    fail("distill-layers: {} has no layer \"{}\"; it has {}{}", whose, name, fmt::join(names, ", "),
         did_you_mean(name, names));
  }
  return found;
}

// [rows, S, H*D] → [rows, H, S, D].
ValueId in_heads(Graph& g, ValueId x, int64_t heads) {
  const Shape shape = g.type(x).shape;
  const ValueId split = ops::reshape(g, {.x = x, .shape = Shape{shape[0], shape[1], heads, floordiv(shape[2], heads)}});
  return ops::transpose(g, {.x = split, .perm = std::vector<int64_t>{0, 2, 1, 3}});
}

// softmax(scale q·kᵀ + mask), which attention does not hand out.
ValueId probabilities(Graph& g, NodeId id, const std::string& name) {
  const Node node = g.node(id);
  const auto heads = node.attributes.get<int64_t>("heads");
  const bool has_mask = node.operands.size() > 3 && node.operands[3] != kNone;
  const bool is_plain = node.attributes.get_or<int64_t>("kv_heads", heads) == heads &&
                        node.attributes.get_or<int64_t>("causal", 0) == 0 && !node.attributes.has("before") &&
                        !node.attributes.has("behind") && node.attributes.get_or<double>("softcap", 0) == 0 &&
                        node.operands.size() <= 4 && (!has_mask || g.type(node.operands[3]).dtype != DType::boolean);
  if (!is_plain)
    fail(
        "distill-layers: \"{}\" is attention with shared heads, a causal or boolean mask, a window, a soft cap or "
        "sinks, whose probabilities are not compared",
        name);
  const ValueId q = in_heads(g, node.operands[0], heads), k = in_heads(g, node.operands[1], heads);
  const Dim columns = g.type(q).shape[3];
  if (!columns.is_constant()) fail("distill-layers: \"{}\" has heads of a width that only a run knows", name);
  const double scale = node.attributes.get_or<double>("scale", 1 / std::sqrt(static_cast<double>(columns.constant())));
  ValueId scores = ops::mul(g, {.a = ops::matmul(g, {.a = q, .b = k, .transpose_b = 1}), .b = number(g, scale)});
  if (has_mask) scores = ops::add(g, {.a = scores, .b = node.operands[3]});
  return ops::softmax(g, {.x = scores});
}

// What counts of x [B,S,…] or [B,H,S,T] where "attention_mask" [B,S] says so: a factor that broadcasts, kNone: all.
ValueId tokens_of(Graph& g, ValueId x) {
  for (ValueId input : g.arguments()) {
    if (g.value(input).label != "attention_mask" || g.type(input).rank() != 2) continue;
    const Shape mask = g.type(input).shape, shape = g.type(x).shape;
    const bool is_hidden = shape.size() == 3 && shape[0] == mask[0] && shape[1] == mask[1],
               is_attention = shape.size() == 4 && shape[0] == mask[0] && shape[2] == mask[1];
    if (!is_hidden && !is_attention) return kNone;
    const ValueId floats = ops::cast(g, {.x = input, .dtype = DType::f32});
    return ops::reshape(g,
                        {.x = floats, .shape = is_hidden ? Shape{mask[0], mask[1], 1} : Shape{mask[0], 1, mask[1], 1}});
  }
  return kNone;
}

ValueId mean(Graph& g, ValueId elements) {
  const ValueId tokens = tokens_of(g, elements);
  if (tokens == kNone) return ops::reduce_mean(g, {.x = elements, .keepdims = 0});
  const ValueId ones = ops::full(g, {.shape = g.type(elements).shape, .value = 1.0, .dtype = DType::f32});
  return ops::div(g, {.a = total(g, ops::mul(g, {.a = elements, .b = tokens})),
                      .b = total(g, ops::mul(g, {.a = ones, .b = tokens}))});
}

ValueId squared_difference(Graph& g, ValueId a, ValueId b) {
  const ValueId difference = ops::sub(g, {.a = a, .b = b});
  return mean(g, ops::mul(g, {.a = difference, .b = difference}));
}

// For each row.
ValueId divergence(Graph& g, ValueId x, ValueId teacher, const std::string& loss) {
  if (loss == "bce") {  // p (log p - log σ(x)) + (1 - p) (log(1 - p) - log(1 - σ(x))), with p = σ(teacher)
    const auto entropy = [&](ValueId logits) {
      return ops::sub(
          g, {.a = ops::softplus(g, {logits}), .b = ops::mul(g, {.a = logits, .b = ops::sigmoid(g, {teacher})})});
    };
    return ops::sub(g, {.a = entropy(x), .b = entropy(teacher)});
  }
  const ValueId log_t = ops::log_softmax(g, {.x = teacher}), log_x = ops::log_softmax(g, {.x = x});
  const ValueId terms = ops::mul(g, {.a = ops::softmax(g, {.x = teacher}), .b = ops::sub(g, {.a = log_t, .b = log_x})});
  return ops::reduce_sum(g, {.x = terms, .axes = std::vector<int64_t>{-1}, .keepdims = 1});
}

ValueId teacher_loss(Graph& g, ValueId predictions, const std::string& loss, const DistillationOptions& options) {
  const ValueId teacher = g.add_input(TeacherNames::kPredictions, plain_type(DType::f32, g.type(predictions).shape));
  if (loss == "mse") return squared_difference(g, predictions, teacher);
  const ValueId part = number(g, 1 / options.temperature);
  const ValueId rows =
      divergence(g, ops::mul(g, {.a = predictions, .b = part}), ops::mul(g, {.a = teacher, .b = part}), loss);
  return ops::mul(g, {.a = mean(g, rows), .b = number(g, options.temperature * options.temperature)});
}

void check(const DistillationOptions& options) {
  if (!(options.temperature > 0) || !std::isfinite(options.temperature))
    fail("temperature is {}; accepted: above 0", options.temperature);
  if (!(options.weight >= 0 && options.weight <= 1)) fail("distill-weight is {}; accepted: 0 to 1", options.weight);
  if (!(options.layer_weight >= 0) || !std::isfinite(options.layer_weight))
    fail("distill-layer-weight is {}; accepted: 0 and above", options.layer_weight);
}

}  // namespace

std::pair<std::string, std::string> parse_layer_pair(const std::string& text) {
  const size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    fail("distill-layers \"{}\": expected STUDENT=TEACHER, the names of two layers", text);
  return {text.substr(0, at), text.substr(at + 1)};
}

Graph with_compared_layers(Graph graph, std::span<const std::string> layers, const std::string& whose) {
  for (size_t i = 0; i < layers.size(); ++i) {
    const NodeId id = find_layer(graph, layers[i], whose);
    const bool is_attention = graph.node(id).op == &attention_def;
    graph.add_output(is_attention ? probabilities(graph, id, layers[i]) : graph.result(id), TeacherNames::layer(i));
  }
  return graph;
}

bool is_compared_layer(const Output& output) { return output.label.starts_with("teacher.layer."); }

std::vector<ValueId> compared_layers(const Graph& graph) {
  std::vector<ValueId> values;
  for (const Output& output : graph.outputs())
    if (is_compared_layer(output)) values.push_back(output.value);
  return values;
}

Graph without_compared_layers(Graph graph) {
  std::vector<Output> outputs(graph.outputs().begin(), graph.outputs().end());
  if (std::erase_if(outputs, is_compared_layer) == 0) return graph;
  graph.set_outputs(std::move(outputs));
  graph = run_pass(std::move(graph), "remove_dead");
  graph.erase_unused_constants();
  return graph;
}

bool is_projection(const std::string& parameter) { return parameter.starts_with("distill.projection."); }

Graph with_projections(Graph student, const Graph& teacher, uint64_t seed) {
  const std::vector<ValueId> own = compared_layers(student), wanted = compared_layers(teacher);
  CHECK(own.size() == wanted.size());
  std::vector<Output> outputs(student.outputs().begin(), student.outputs().end());
  std::erase_if(outputs, is_compared_layer);
  for (size_t i = 0; i < own.size(); ++i) {
    const Dim from = student.type(own[i]).shape.back(), to = teacher.type(wanted[i]).shape.back();
    ValueId layer = own[i];
    if (from.is_constant() && to.is_constant() && from != to) {
      const std::string name = fmt::format("distill.projection.{}.weight", i);
      layer = ops::linear(
          student,
          {.x = layer, .w = student.add_constant(name, random_matrix(seed, name, to.constant(), from.constant()))});
    }
    outputs.push_back({layer, TeacherNames::layer(i)});
  }
  student.set_outputs(std::move(outputs));
  return student;
}

LossTerms add_distillation(Graph& graph, LossTerms of_labels, ValueId predictions, std::span<const ValueId> layers,
                           const std::string& loss, const DistillationOptions& options) {
  check(options);
  // Sums of the parts of a batch are divided by the sum of their counts.
  ValueId sum = ops::mul(graph, {.a = of_labels.sum, .b = number(graph, 1 - options.weight)});
  const auto add = [&](ValueId term, double weight) {
    const ValueId counted = ops::mul(graph, {.a = term, .b = of_labels.count});
    sum = ops::add(graph, {.a = sum, .b = ops::mul(graph, {.a = counted, .b = number(graph, weight)})});
  };
  if (graph.type(predictions).dtype != DType::f32)
    predictions = ops::cast(graph, {.x = predictions, .dtype = DType::f32});
  if (options.weight > 0) add(teacher_loss(graph, predictions, loss, options), options.weight);
  for (size_t i = 0; i < layers.size(); ++i) {
    const ValueId teacher =
        graph.add_input(TeacherNames::layer(i), plain_type(DType::f32, graph.type(layers[i]).shape));
    add(squared_difference(graph, layers[i], teacher), options.layer_weight);
  }
  return {.sum = sum, .count = of_labels.count};
}

}  // namespace hone
