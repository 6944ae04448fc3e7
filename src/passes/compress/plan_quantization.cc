#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "formats/packed.h"
#include "ops/block_products.h"
#include "ops/calls/conv.h"
#include "ops/calls/fake_quant.h"
#include "ops/integer_activations.h"
#include "passes/captures.h"
#include "passes/compress/quantize.h"
#include "passes/compress/quantize_rule.h"
#include "passes/layer.h"
#include "passes/match.h"
#include "passes/weight_matrix.h"

namespace hone {
namespace {

void check_format(const std::string& text) { parse_format(text); }
void check_input_format(const std::string& text) { InputFormat::parse(text); }
void check_rule(const std::string& text) { QuantizeRule::parse(text); }
void check_regex(const std::string& text) { QuantizeRule::keep_matching(text); }

constexpr OptionField<FormatRules> kFields[] = {
    {"to", "number format of the weights, e.g. mxint8", &FormatRules::to, check_format},
    {"rule",
     "address=format, where the last match wins: a regular expression on names, op:NAME or name:NAME; LAYER.in and "
     "LAYER.bias are a layer's input and bias; the format may be keep",
     &FormatRules::rule, check_rule},
    {"skip", "regular expression on names of tensors that are kept", &FormatRules::skip, check_regex},
    {"activations",
     "number format of the inputs of linear, conv, matmul and attention. int8 and uint8.asym, of the tensor or of each "
     "row (g1x0), and mxint8 are multiplied as integers by such weights (mxint8 by linear's), and round the inputs of "
     "layers with weights alone; others are simulated; int8@min-max: by a scale that calibration data choose (min-max, "
     "moving-average, percentile, mse, entropy)",
     &FormatRules::activations, check_input_format},
};

using Part = QuantizeCandidate::Part;

// A layer's constants and inputs get their addresses from it, tables of gathers from their label.
void note_part(QuantizeCandidate& candidate, Part part, const std::string& layer, const char* op) {
  candidate.part = part;
  candidate.address = layer + std::string(suffix_of(part));
  candidate.ops.emplace_back(op);
}

// What reads the value as a weight or table, within bodies that capture it too.
void note_readers(QuantizeCandidate& candidate, const Graph& graph, const std::vector<Graph::Use>& uses) {
  for (const Graph::Use& use : uses) {
    const Node& node = graph.node(use.node);
    const auto operand = static_cast<size_t>(use.operand);
    if (const std::optional<Capture> capture = capture_at(node, operand))
      note_readers(candidate, *capture->body, capture->body->uses(capture->input));
    else if (node.op->operands.of(static_cast<size_t>(use.operand)).weight &&
             graph.type(node.operands[operand]).rank() >= 2)
      note_part(candidate, Part::weight, layer_name(candidate.name), node.op->name);
  }
}

std::vector<QuantizeCandidate> constant_candidates(const Graph& graph, const std::vector<ValueId>& constants,
                                                   const std::vector<Layer>& layers) {
  std::map<ValueId, QuantizeCandidate> found;
  for (ValueId id : constants)
    found[id] = {.name = graph.value(id).label, .address = "", .part = Part::other, .ops = {}};
  const auto uses = graph.all_uses();
  for (auto& [id, candidate] : found) note_readers(candidate, graph, uses[static_cast<size_t>(id)]);
  for (const Layer& layer : layers)
    if (const auto bias = found.find(layer.bias); bias != found.end())
      note_part(bias->second, Part::bias, layer.name, graph.node(layer.node).op->name);
  std::vector<QuantizeCandidate> candidates;
  for (ValueId id : constants) candidates.push_back(std::move(found[id]));
  return candidates;
}

std::vector<ValueId> floating_constants(const Graph& graph) {
  std::vector<ValueId> found;
  for (ValueId id : graph.constants())
    if (!graph.value(id).label.empty() && is_float(graph.type(id).dtype)) found.push_back(id);
  return found;
}

std::string format_text(const TensorType& type) {
  if (type.format) return to_string(*type.format);
  switch (type.dtype) {
    case DType::f32:
      return "fp32";
    case DType::f16:
      return "fp16";
    case DType::bf16:
      return "bf16";
    default:
      return std::string(to_string(type.dtype));
  }
}

void decide(QuantizeChoice& choice, const QuantizeRule& rule, Part part) {
  if (!rule.observer().empty() && part != Part::in)
    fail("rule \"{}\": {} is no input of a layer; @{} is for those", rule.text(), choice.name, rule.observer());
  if (!choice.decided_by.empty()) choice.overridden.push_back(choice.decided_by);
  choice.format = rule.format();
  choice.observer = rule.observer();
  choice.decided_by = rule.text();
}

// Weights that convs alone read are packed as their matrix. Packed ones stay as they lie.
bool becomes_matrix(const Graph& graph, ValueId id) {
  if (graph.type(id).rank() <= 2 || graph.type(id).is_packed()) return false;
  const std::vector<Graph::Use> uses = graph.uses(id);
  const auto weighs_conv = [&](const Graph::Use& use) {
    return use.operand == 1 && graph.node(use.node).op == &conv_def;
  };
  return !uses.empty() && static_cast<int>(uses.size()) == graph.use_count(id) &&
         std::all_of(uses.begin(), uses.end(), weighs_conv);
}

void keep(QuantizeChoice& choice, std::string reason) {
  choice.decided_by = std::move(reason);
  choice.after = choice.before;
  choice.format.reset();
}

// A row of a convolution's matrix may be shorter than a block, the nine weights of a depthwise window, and then is
// mostly padding. The default format is there to make a model smaller; a rule means what it says.
void keep_if_larger(QuantizeChoice& choice, int64_t plain_bytes) {
  if (plane_bytes(*choice.format, choice.shape).total() <= plain_bytes) return;
  keep(choice, "kept: larger as " + choice.after);
}

// Unknown axes and tiles of the format on this shape are found before anything is changed.
void check_fits(const QuantizeChoice& choice, const std::vector<int64_t>& shape) {
  try {
    packed_layout(*choice.format, shape);
  } catch (const Error& error) {
    fail("{} of shape {} can't be {} ({}): {}", choice.name, to_string(to_shape(shape)), choice.after,
         choice.decided_by, error.what());
  }
}

void settle(QuantizeChoice& choice) {
  if (choice.decided_by.empty()) choice.decided_by = "kept by default";
  choice.after = choice.format ? to_string(InputFormat{*choice.format, choice.observer}) : choice.before;
  if (choice.after == choice.before) choice.format.reset();
}

void finish_constant(QuantizeChoice& choice, const Graph& graph, bool by_default) {
  settle(choice);
  if (!choice.format) return;
  const bool captured = is_captured(graph, choice.value);
  if (is_plain_float(*choice.format)) {
    if (captured) keep(choice, "kept: a body that reads it is written for its element type");
    return;
  }
  const std::vector<int64_t> shape = choice.shape;
  const bool is_window = becomes_matrix(graph, choice.value);
  if (is_window) choice.shape = weight_matrix_shape(shape);
  check_fits(choice, choice.shape);
  if (by_default && (is_window || captured) && !is_fake_only(*choice.format))
    keep_if_larger(choice, graph.constant(choice.value)->bytes());
  if (!choice.format) choice.shape = shape;
}

// Symbols stand for 1: whether axes exist does not depend on them.
void finish_activation(QuantizeChoice& choice, const Graph& graph) {
  settle(choice);
  const TensorType& type = graph.type(choice.value);
  if (!choice.format || !type.ranked) return;
  std::vector<int64_t> shape;
  for (const Dim& dim : type.shape) shape.push_back(dim.is_constant() ? dim.constant() : 1);
  check_fits(choice, shape);
}

// Whether products with weights are of integers when activations are rounded so.
bool is_of_integers(const Format& format) {
  return no_integer_activations(format).empty() || no_block_activations(format, 2).empty();
}

// What may be chosen, with what rules see of it.
struct Choices {
  std::vector<QuantizeChoice> choices;
  std::vector<QuantizeCandidate> candidates;  // one for each
  std::vector<bool> meets_weights = {};       // of inputs

  // The default is no rule: what it gives way to is not an overridden match.
  void choose_default(const std::string& format, const std::string& by, Part part) {
    for (size_t i = 0; i < choices.size() && !format.empty(); ++i)
      if (candidates[i].part == part) {
        const InputFormat given = InputFormat::parse(format);
        if (part == Part::in && !meets_weights[i] && is_of_integers(given.format))
          choices[i].decided_by = "kept: only products with weights are of integers; a rule may say otherwise";
        else choices[i].format = given.format, choices[i].observer = given.observer, choices[i].decided_by = by;
      }
  }
  bool apply(const QuantizeRule& rule, const std::string& default_by) {
    bool matched = false;
    for (size_t i = 0; i < choices.size(); ++i) {
      if (!rule.matches(candidates[i])) continue;
      matched = true;
      if (choices[i].decided_by == default_by) choices[i].decided_by.clear();
      decide(choices[i], rule, candidates[i].part);
    }
    return matched;
  }
};

Choices constant_choices(const Graph& graph, const std::vector<Layer>& layers) {
  const std::vector<ValueId> constants = floating_constants(graph);
  Choices all{{}, constant_candidates(graph, constants, layers)};
  for (size_t i = 0; i < constants.size(); ++i) {
    const TensorType& type = graph.type(constants[i]);
    all.choices.push_back({.value = constants[i],
                           .name = all.candidates[i].name,
                           .shape = constant_shape(type.shape),
                           .before = format_text(type)});
  }
  return all;
}

// Layers of one name, which share their weight, are one entry.
Choices activation_choices(const Graph& graph, const std::vector<Layer>& layers) {
  Choices all;
  std::map<std::string, size_t> places;
  for (const Layer& layer : layers) {
    const auto [place, is_new] = places.emplace(layer.name, all.choices.size());
    if (is_new) {
      const ValueId input = graph.operand(layer.node, layer.inputs[0]);
      const NodeId rounded = produced_by(graph, input, fake_quant_def);
      const TensorType& type = graph.type(input);
      all.choices.push_back({.value = unrounded(graph, input),
                             .name = layer.name + ".in",
                             .before = rounded == kNone
                                           ? format_text(type)
                                           : to_string(graph.node(rounded).attributes.get<Format>("format"))});
      all.candidates.push_back({.name = all.choices.back().name, .address = "", .part = Part::in, .ops = {}});
      all.meets_weights.push_back(false);
    }
    if (layer.weight != kNone) all.meets_weights[place->second] = true;
    for (int operand : layer.inputs) all.choices[place->second].uses.push_back({layer.node, operand});
    note_part(all.candidates[place->second], Part::in, layer.name, graph.node(layer.node).op->name);
  }
  return all;
}

// Names that the model does not have are told all at once: a plan for another model has many.
void refuse_unmatched(const std::vector<const QuantizeRule*>& unmatched,
                      const std::vector<QuantizeCandidate>& candidates) {
  std::vector<std::string> names, others;
  for (const QuantizeRule* rule : unmatched)
    (rule->gives_name() ? names : others).push_back(rule->unmatched(candidates));
  if (names.size() > 1)
    fail("{} rules give names that the model does not have; are they for another model?\n  {}", names.size(),
         fmt::join(names, "\n  "));
  if (!unmatched.empty()) fail("{}", names.empty() ? others[0] : names[0]);
}

// One graph of the tree while its choices are made.
struct Scope {
  const Graph* graph;
  NodeId node = kNone;  // of the graph around it
  size_t body = 0;
  Choices constants, activations;
  std::vector<Scope> bodies;
};

Scope scope_of(const Graph& graph) {
  const std::vector<Layer> layers = layers_of(graph);
  Scope scope{.graph = &graph,
              .constants = constant_choices(graph, layers),
              .activations = activation_choices(graph, layers),
              .bodies = {}};
  for (NodeId id : graph.nodes()) {
    const std::vector<Graph>& bodies = graph.node(id).subgraphs;
    for (size_t i = 0; i < bodies.size(); ++i) {
      scope.bodies.push_back(scope_of(bodies[i]));
      scope.bodies.back().node = id, scope.bodies.back().body = i;
    }
  }
  return scope;
}

template <class F>
void for_each_scope(Scope& scope, const F& visit) {
  visit(scope);
  for (Scope& body : scope.bodies) for_each_scope(body, visit);
}

QuantizationPlan plan_of(Scope scope) {
  QuantizationPlan plan{std::move(scope.constants.choices), std::move(scope.activations.choices), {}};
  for (Scope& body : scope.bodies) plan.bodies.push_back({body.node, body.body, plan_of(std::move(body))});
  return plan;
}

}  // namespace

std::span<const OptionField<FormatRules>> FormatRules::fields() { return kFields; }

const Format* QuantizationPlan::format_of(ValueId constant) const {
  for (const QuantizeChoice& choice : constants)
    if (choice.value == constant) return choice.format ? &*choice.format : nullptr;
  return nullptr;
}

bool QuantizationPlan::rounds_input(NodeId layer) const {
  for (const QuantizeChoice& choice : activations)
    for (const Graph::Use& use : choice.uses)
      if (use.node == layer) return choice.format.has_value();
  return false;
}

std::vector<ObservedInput> observed_inputs(const Graph& graph, const QuantizationPlan& plan) {
  std::vector<ObservedInput> inputs;
  for (const QuantizeChoice& choice : plan.activations) {
    if (!choice.format || choice.observer.empty()) continue;
    for (const Graph::Use& use : choice.uses) {
      const ValueId value = unrounded(graph, graph.operand(use.node, use.operand));
      const auto is_it = [&](const ObservedInput& other) {
        return other.value == value && other.format == *choice.format && other.observer == choice.observer;
      };
      if (std::ranges::none_of(inputs, is_it))
        inputs.push_back({.value = value, .format = *choice.format, .observer = choice.observer});
    }
  }
  for (const BodyPlan& body : plan.bodies)
    if (!observed_inputs(graph.node(body.node).subgraphs[body.body], body.plan).empty())
      fail("inputs of layers in bodies of If, Loop and Scan can't be observed; give them a format without @");
  return inputs;
}

ValueId unrounded(const Graph& graph, ValueId input) {
  const NodeId rounded = produced_by(graph, input, fake_quant_def);
  return rounded == kNone ? input : graph.operand(rounded, 0);
}

QuantizationPlan plan_quantization(const Graph& graph, const FormatRules& options) {
  if (options.to.empty() && options.rule.empty() && options.activations.empty())
    fail("nothing to quantize: give a format for the weights (to, e.g. mxint8), rules, or a format for activations");
  Scope tree = scope_of(graph);
  const std::string by_to = "to " + options.to, by_activations = "activations " + options.activations;
  for_each_scope(tree, [&](Scope& scope) {
    scope.constants.choose_default(options.to, by_to, Part::weight);
    scope.activations.choose_default(options.activations, by_activations, Part::in);
  });
  std::vector<QuantizeRule> rules;
  for (const std::string& text : options.rule) rules.push_back(QuantizeRule::parse(text));
  for (const std::string& regex : options.skip) rules.push_back(QuantizeRule::keep_matching(regex));
  std::vector<const QuantizeRule*> unmatched;
  for (const QuantizeRule& rule : rules) {
    bool matched = false;
    for_each_scope(tree, [&](Scope& scope) {
      matched = scope.constants.apply(rule, by_to) || matched;
      matched = scope.activations.apply(rule, by_activations) || matched;
    });
    if (!matched) unmatched.push_back(&rule);
  }
  std::vector<QuantizeCandidate> constants, inputs;
  for_each_scope(tree, [&](const Scope& scope) {
    constants.insert(constants.end(), scope.constants.candidates.begin(), scope.constants.candidates.end());
    inputs.insert(inputs.end(), scope.activations.candidates.begin(), scope.activations.candidates.end());
  });
  constants.insert(constants.end(), inputs.begin(), inputs.end());
  refuse_unmatched(unmatched, constants);
  for_each_scope(tree, [&](Scope& scope) {
    for (QuantizeChoice& choice : scope.constants.choices)
      finish_constant(choice, *scope.graph, choice.decided_by == by_to);
    for (QuantizeChoice& choice : scope.activations.choices) finish_activation(choice, *scope.graph);
  });
  return plan_of(std::move(tree));
}

}  // namespace hone
