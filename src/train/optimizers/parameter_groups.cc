#include "train/optimizers/parameter_groups.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/regex.h"
#include "base/text.h"

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

struct Rule {
  std::string text, op;
  std::optional<Regex> names;
  bool frozen = false, lazy = false, trained = false;
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
      else if (how == "trained") trained = true;
      else if (how.starts_with("rate:")) rate = number_of(rule, how.substr(5));
      else if (how.starts_with("decay:")) decay = number_of(rule, how.substr(6));
      else
        fail("rule \"{}\": \"{}\" is neither frozen nor trained nor lazy nor rate:FACTOR nor decay:NUMBER; {}", rule,
             how, kGrammar);
    }
    if (rate == 0.0) frozen = true;
  }

  bool matches(const StoredTensor& tensor) const {
    return names ? names->search(tensor.name) : tensor.ops.contains(op);
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

[[noreturn]] void refuse_unmatched(const Rule& rule, const std::vector<StoredTensor>& stored) {
  std::vector<std::string> names;
  std::set<std::string> ops;
  for (const StoredTensor& tensor : stored) {
    names.push_back(tensor.name);
    if (tensor.why_not.empty()) ops.insert(tensor.ops.begin(), tensor.ops.end());
  }
  if (!rule.names) fail("rule \"{}\": no {} reads a weight; what does: {}", rule.text, rule.op, fmt::join(ops, ", "));
  for (const StoredTensor& tensor : stored)
    if (rule.matches(tensor))
      fail("rule \"{}\": {} is no parameter: {}{}", rule.text, tensor.name, tensor.why_not,
           tensor.can_be ? "; NAMES=trained makes it one" : "");
  const std::string pattern = rule.text.substr(0, rule.text.rfind('='));
  fail("rule \"{}\": no name of a weight matches{}. hone doctor --train lists them", rule.text,
       did_you_mean(pattern, names));
}

// Others have a gradient in every row, or none that is exactly 0.
void expect_table(const Rule& rule, const StoredTensor& tensor) {
  if (tensor.shape.size() != 2 || tensor.ops != std::set<std::string>{"gather"})
    fail(
        "rule \"{}\": {} is no table of which steps read some rows, [rows,columns] read by gather alone; it is read by "
        "{}",
        rule.text, tensor.name, fmt::join(tensor.ops, ", "));
}

// The first rule that matches; each that says something of such a tensor is noted in `used`.
const Rule* rule_for(const StoredTensor& tensor, const std::vector<Rule>& rules, std::vector<bool>& used) {
  const Rule* first = nullptr;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!rules[i].matches(tensor)) continue;
    used[i] = used[i] || tensor.why_not.empty() || rules[i].frozen || rules[i].trained;
    if (!first) first = &rules[i];
  }
  return first;
}

// Whether it is a parameter, by itself or because the rule says so.
bool is_parameter(const StoredTensor& tensor, const Rule* rule) {
  const bool asked = rule && rule->trained && !tensor.why_not.empty();
  if (asked && !tensor.can_be)
    fail("rule \"{}\": {} can't be trained: {}. Leave it out of the names", rule->text, tensor.name, tensor.why_not);
  return tensor.why_not.empty() || asked;
}

}  // namespace

TrainableConstants choose_trainable(const Graph& graph, const GroupOptions& options) {
  if (!(options.decay >= 0) || !std::isfinite(options.decay)) fail("decay is {}; accepted: 0 and above", options.decay);
  std::vector<StoredTensor> stored = stored_tensors(graph);
  stored.insert(stored.end(), options.untrainable.begin(), options.untrainable.end());
  const std::vector<Rule> rules(options.rules.begin(), options.rules.end());
  std::vector<bool> used(rules.size(), false);
  std::map<std::tuple<double, double, bool>, std::vector<ValueId>> groups;
  TrainableConstants chosen;
  for (const StoredTensor& tensor : stored) {
    const Rule* const rule = rule_for(tensor, rules, used);
    if (!is_parameter(tensor, rule)) {
      chosen.others.push_back(tensor);
      continue;
    }
    if (rule && rule->frozen) {
      chosen.frozen.push_back(tensor.id);
      continue;
    }
    double rate = 1, decay = options.decay_all || tensor.decays ? options.decay : 0;
    if (rule && rule->lazy) expect_table(*rule, tensor);
    if (rule) rate = rule->rate.value_or(rate), decay = rule->decay.value_or(decay);
    groups[{rate, decay, rule && rule->lazy}].push_back(tensor.id);
  }
  if (groups.empty() && chosen.frozen.empty())
    fail("the model has no weights that can be trained: its constants are packed, integers, or without names{}",
         chosen.others.empty()
             ? ""
             : fmt::format(", or no parameters ({}: {})", chosen.others[0].name, chosen.others[0].why_not));
  for (size_t i = 0; i < rules.size(); ++i)
    if (!used[i]) refuse_unmatched(rules[i], stored);
  if (groups.empty()) fail("nothing is left to train: the rules freeze all {} weights", chosen.frozen.size());
  for (auto& [how, parameters] : groups)
    chosen.groups.push_back({std::get<0>(how), std::get<1>(how), std::get<2>(how), std::move(parameters)});
  return chosen;
}

}  // namespace hone
