#include "train/parameter_groups.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/regex.h"
#include "base/text.h"
#include "ops/calls.h"

namespace hone {
namespace {

constexpr const char* kGrammar =
    "expected NAMES=HOW, e.g. 'embeddings=frozen', 'op:gather=rate:0.1' or 'classifier=rate:10,decay:0'";

double number_of(const std::string& rule, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0) || !std::isfinite(value))
    fail("rule \"{}\": \"{}\" is no number of 0 or above", rule, text);
  return value;
}

// A constant of the graph, and the ops that read it.
struct Candidate {
  ValueId value;
  std::string name;
  std::set<std::string> ops;
};

struct Rule {
  std::string text, op;
  std::optional<Regex> names;
  bool frozen = false, lazy = false;
  std::optional<double> rate, decay;

  explicit Rule(const std::string& rule) : text(rule) {
    const size_t at = rule.rfind('=');
    if (at == std::string::npos || at == 0 || at + 1 == rule.size()) fail("rule \"{}\": {}", rule, kGrammar);
    const std::string address = rule.substr(0, at);
    if (address.starts_with("op:")) op = address.substr(3);
    else set_names(address);
    for (const std::string& how : split(rule.substr(at + 1), ',')) {
      if (how == "frozen") frozen = true;
      else if (how == "lazy") lazy = true;
      else if (how.starts_with("rate:")) rate = number_of(rule, how.substr(5));
      else if (how.starts_with("decay:")) decay = number_of(rule, how.substr(6));
      else
        fail("rule \"{}\": \"{}\" is neither frozen nor lazy nor rate:FACTOR nor decay:NUMBER; {}", rule, how,
             kGrammar);
    }
    if (rate == 0.0) frozen = true;
  }

  bool matches(const Candidate& candidate) const {
    return names ? names->search(candidate.name) : candidate.ops.contains(op);
  }

 private:
  void set_names(const std::string& pattern) {
    try {
      names.emplace(pattern);
    } catch (const Error& error) {
      fail("rule \"{}\": {}", text, error.what());
    }
  }
};

// Larger numbers are of masks, not weights.
constexpr double kLargestWeight = 1e4;

bool is_weight_like(const Tensor& tensor) {
  const auto is_small = [](float v) { return std::abs(v) < kLargestWeight; };
  if (tensor.dtype() == DType::f32) return std::ranges::all_of(tensor.as<float>(), is_small);  // where they lie
  return std::ranges::all_of(tensor.to_floats(), is_small);
}

// What the node computes with it as a number that is learned; not as an argument, and not what batch_norm counts.
bool learns(const Node& node, size_t operand) {
  const OperandSpec& spec = node.op->operands.of(operand);
  if (spec.argument || spec.indices) return false;
  return node.op != &batch_norm_def || operand < 3;
}

// A number that fake_quant rounds by.
bool is_scale(const Graph& graph, const std::vector<Graph::Use>& uses) {
  return std::ranges::any_of(
      uses, [&](const Graph::Use& use) { return graph.node(use.node).op == &fake_quant_def && use.operand > 0; });
}

std::vector<Candidate> candidates_of(const Graph& graph) {
  const std::vector<std::vector<Graph::Use>> uses = graph.all_uses();
  std::vector<Candidate> found;
  for (ValueId id : graph.constants()) {
    const Value& value = graph.value(id);
    const Tensor& tensor = *value.constant;
    if (value.label.empty() || tensor.is_packed() || tensor.container() != Container::none ||
        !is_float(tensor.dtype()) || (tensor.elements() < 2 && !is_scale(graph, uses[static_cast<size_t>(id)])))
      continue;
    Candidate candidate{id, value.label, {}};
    bool all = !uses[static_cast<size_t>(id)].empty();
    for (const Graph::Use& use : uses[static_cast<size_t>(id)]) {
      all = all && learns(graph.node(use.node), static_cast<size_t>(use.operand));
      candidate.ops.insert(graph.node(use.node).op->name);
    }
    if (all && is_weight_like(tensor)) found.push_back(std::move(candidate));
  }
  return found;
}

[[noreturn]] void refuse_unmatched(const Rule& rule, const std::vector<Candidate>& candidates) {
  std::vector<std::string> names;
  std::set<std::string> ops;
  for (const Candidate& c : candidates) {
    names.push_back(c.name);
    ops.insert(c.ops.begin(), c.ops.end());
  }
  if (!rule.names) fail("rule \"{}\": no {} reads a weight; what does: {}", rule.text, rule.op, fmt::join(ops, ", "));
  const std::string pattern = rule.text.substr(0, rule.text.rfind('='));
  fail("rule \"{}\": no name of a weight matches{}. hone info --tensors lists them", rule.text,
       did_you_mean(pattern, names));
}

// Others have a gradient in every row, or none that is exactly 0.
void expect_table(const Rule& rule, const Candidate& candidate, size_t rank) {
  if (rank != 2 || candidate.ops != std::set<std::string>{"gather"})
    fail(
        "rule \"{}\": {} is no table of which steps read some rows, [rows,columns] read by gather alone; it is read by "
        "{}",
        rule.text, candidate.name, fmt::join(candidate.ops, ", "));
}

}  // namespace

TrainableConstants choose_trainable(const Graph& graph, const GroupOptions& options) {
  if (!(options.decay >= 0) || !std::isfinite(options.decay)) fail("decay is {}; accepted: 0 and above", options.decay);
  const std::vector<Candidate> candidates = candidates_of(graph);
  if (candidates.empty())
    fail("the model has no weights that can be trained: its constants are packed, integers, or without names");
  const std::vector<Rule> rules(options.rules.begin(), options.rules.end());
  std::vector<bool> used(rules.size(), false);
  std::map<std::tuple<double, double, bool>, std::vector<ValueId>> groups;
  TrainableConstants chosen;
  for (const Candidate& candidate : candidates) {
    const bool decays = options.decay_all || graph.type(candidate.value).rank() > 1;
    double rate = 1, decay = decays ? options.decay : 0;
    bool frozen = false, lazy = false, matched = false;
    for (size_t i = 0; i < rules.size(); ++i) {
      if (!rules[i].matches(candidate)) continue;
      used[i] = true;
      if (matched) continue;
      matched = true;
      frozen = rules[i].frozen, lazy = rules[i].lazy;
      if (lazy) expect_table(rules[i], candidate, graph.type(candidate.value).rank());
      rate = rules[i].rate.value_or(rate);
      decay = rules[i].decay.value_or(decay);
    }
    if (frozen) chosen.frozen.push_back(candidate.value);
    else groups[{rate, decay, lazy}].push_back(candidate.value);
  }
  for (size_t i = 0; i < rules.size(); ++i)
    if (!used[i]) refuse_unmatched(rules[i], candidates);
  if (groups.empty()) fail("nothing is left to train: the rules freeze all {} weights", candidates.size());
  for (auto& [how, parameters] : groups)
    chosen.groups.push_back({std::get<0>(how), std::get<1>(how), std::get<2>(how), std::move(parameters)});
  return chosen;
}

}  // namespace hone
