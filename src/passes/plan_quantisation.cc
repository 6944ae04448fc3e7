#include <algorithm>

#include "base/error.h"
#include "formats/packed.h"
#include "passes/quantize.h"
#include "passes/quantize_rule.h"
#include "passes/weight_matrix.h"

namespace hone {
namespace {

void check_format(const std::string& text) { parse_format(text); }
void check_rule(const std::string& text) { QuantizeRule::parse(text); }
void check_regex(const std::string& text) { QuantizeRule::keep_matching(text); }

constexpr OptionField<QuantizeOptions> kFields[] = {
    {"to", "number format of the weights, e.g. mxint8", &QuantizeOptions::to, check_format},
    {"rule",
     "pattern=format, where the last match wins: a regular expression on tensor names, op:NAME or name:NAME; the "
     "format may be "
     "keep",
     &QuantizeOptions::rule, check_rule},
    {"skip", "regular expression on names of tensors that are kept", &QuantizeOptions::skip, check_regex},
    {"activations", "number format of the inputs of linear, conv and matmul (simulated)", &QuantizeOptions::activations,
     check_format},
};

// Whether operand `i` of the op is a weight or table.
bool is_weight(std::string_view op, int i) {
  return op == "matmul" || ((op == "linear" || op == "conv") && i == 1) || (op == "gather" && i == 0);
}

std::vector<QuantizeCandidate> candidates_of(const Graph& graph, const std::vector<ValueId>& constants) {
  const auto uses = graph.all_uses();
  std::vector<QuantizeCandidate> candidates;
  for (ValueId id : constants) {
    QuantizeCandidate candidate{graph.value(id).label, false, {}};
    for (const Graph::Use& use : uses[static_cast<size_t>(id)]) {
      const std::string op = graph.node(use.node).op->name;
      if (!is_weight(op, use.operand)) continue;
      candidate.eligible = graph.type(id).rank() >= 2;
      candidate.ops.push_back(op);
    }
    candidates.push_back(std::move(candidate));
  }
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

void decide(QuantizeChoice& choice, const std::optional<Format>& format, const std::string& by) {
  if (!choice.decided_by.empty()) choice.overridden.push_back(choice.decided_by);
  choice.format = format;
  choice.decided_by = by;
}

// Weights that convs alone read are packed as their matrix. Packed ones stay as they lie.
bool becomes_matrix(const Graph& graph, ValueId id) {
  if (graph.type(id).rank() <= 2 || graph.type(id).is_packed()) return false;
  const std::vector<Graph::Use> uses = graph.uses(id);
  const auto weighs_conv = [&](const Graph::Use& use) {
    return use.operand == 1 && std::string_view(graph.node(use.node).op->name) == "conv";
  };
  return !uses.empty() && static_cast<int>(uses.size()) == graph.use_count(id) &&
         std::all_of(uses.begin(), uses.end(), weighs_conv);
}

// A row of a convolution's matrix may be shorter than a block, the nine weights of a depthwise window, and then is
// mostly padding. The default format is there to make a model smaller; a rule means what it says.
void keep_if_larger(QuantizeChoice& choice, int64_t plain_bytes) {
  if (plane_bytes(*choice.format, choice.shape).total() < plain_bytes) return;
  choice.decided_by = "kept: larger as " + choice.after;
  choice.after = choice.before;
  choice.format.reset();
}

// Unknown axes and tiles of the format on this shape are found before anything is changed.
void finish(QuantizeChoice& choice, const Graph& graph, bool by_default) {
  if (choice.decided_by.empty()) choice.decided_by = "kept by default";
  choice.after = choice.format ? to_string(*choice.format) : choice.before;
  if (choice.after == choice.before) choice.format.reset();
  if (!choice.format || is_plain_float(*choice.format)) return;
  const std::vector<int64_t> shape = choice.shape;
  const bool is_window = becomes_matrix(graph, choice.value);
  if (is_window) choice.shape = weight_matrix_shape(shape);
  try {
    packed_layout(*choice.format, choice.shape);
  } catch (const Error& error) {
    fail("tensor {} of shape {} can't be {} ({}): {}", choice.name, to_string(to_shape(choice.shape)), choice.after,
         choice.decided_by, error.what());
  }
  if (by_default && is_window) keep_if_larger(choice, graph.constant(choice.value)->bytes());
  if (!choice.format) choice.shape = shape;
}

}  // namespace

std::span<const OptionField<QuantizeOptions>> quantize_fields() { return kFields; }

std::vector<QuantizeChoice> plan_quantisation(const Graph& graph, const QuantizeOptions& options) {
  if (options.to.empty() && options.rule.empty() && options.activations.empty())
    fail("nothing to quantise: give a format for the weights (to, e.g. mxint8), rules, or a format for activations");
  const std::vector<ValueId> constants = floating_constants(graph);
  const std::vector<QuantizeCandidate> candidates = candidates_of(graph, constants);
  std::vector<QuantizeChoice> choices;
  for (size_t i = 0; i < constants.size(); ++i) {
    const TensorType& type = graph.type(constants[i]);
    choices.push_back({.value = constants[i],
                       .name = candidates[i].name,
                       .shape = constant_shape(type.shape),
                       .before = format_text(type),
                       .after = {},
                       .format = {},
                       .decided_by = {},
                       .overridden = {}});
    if (!options.to.empty() && candidates[i].eligible) decide(choices[i], parse_format(options.to), "to " + options.to);
  }
  // The default is no rule: what it gave way to is not an overridden match.
  std::vector<QuantizeRule> rules;
  for (const std::string& text : options.rule) rules.push_back(QuantizeRule::parse(text));
  for (const std::string& regex : options.skip) rules.push_back(QuantizeRule::keep_matching(regex));
  for (const QuantizeRule& rule : rules) {
    bool matched = false;
    for (size_t i = 0; i < choices.size(); ++i) {
      if (!rule.matches(candidates[i])) continue;
      matched = true;
      if (choices[i].decided_by == "to " + options.to) choices[i].decided_by.clear();
      decide(choices[i], rule.format(), rule.text());
    }
    if (!matched) rule.fail_unmatched(candidates);
  }
  for (QuantizeChoice& choice : choices) finish(choice, graph, choice.decided_by == "to " + options.to);
  return choices;
}

}  // namespace hone
