#include "study/trial_record.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "base/error.h"

namespace hone {
namespace {

constexpr std::array kStates{"RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING"};
constexpr std::array kDirections{"NOT_SET", "MINIMIZE", "MAXIMIZE"};

template <class T>
void put_parameter(std::vector<T>& all, const T& parameter) {
  const auto at = std::ranges::find(all, parameter.name, &T::name);
  if (at == all.end()) all.push_back(parameter);
  else *at = parameter;
}

}  // namespace

const char* to_string(TrialState state) { return kStates.at(static_cast<size_t>(state)); }
const char* to_string(Direction direction) { return kDirections.at(static_cast<size_t>(direction)); }

std::optional<TrialState> parse_trial_state(std::string_view text) {
  const auto at = std::ranges::find(kStates, text);
  if (at == kStates.end()) return std::nullopt;
  return static_cast<TrialState>(at - kStates.begin());
}

std::optional<Direction> parse_direction(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const auto at = std::ranges::find(kDirections, upper);
  if (at == kDirections.end()) return std::nullopt;
  return static_cast<Direction>(at - kDirections.begin());
}

TrialParameter stored_parameter(std::string name, double value, DistributionPtr distribution,
                                const std::string& source) {
  if (distribution->is_category() && !distribution->contains(value))
    fail("{}: parameter {} has choice {} of {}", source, name, value, distribution->choices.size());
  const bool fits = distribution->is_exact() ? std::abs(value) <= 0x1p53 : std::isfinite(value);
  if (distribution->kind == DistributionKind::integer && !fits)
    fail("{}: parameter {} is {}, which is no whole number", source, name, value);
  return {std::move(name), value, std::move(distribution)};
}

const TrialParameter* TrialRecord::find(std::string_view name) const {
  const auto at = std::ranges::find(parameters, name, &TrialParameter::name);
  return at == parameters.end() ? nullptr : &*at;
}

double TrialRecord::violation() const {
  if (!system_attributes.is_object()) return 0;
  double sum = 0;
  const auto add = [&](const Json& value) {
    if (value.is_number() && value.get<double>() > 0) sum += value.get<double>();
  };
  for (const auto& [key, value] : system_attributes.items())
    if (key == kConstraintsKey && value.is_array()) std::ranges::for_each(value, add);
    else if (key.starts_with("constraints:")) add(value);
  return sum;
}

bool TrialRecord::has_constraints() const {
  if (!system_attributes.is_object()) return false;
  for (const auto& [key, value] : system_attributes.items())
    if (key == kConstraintsKey || key.starts_with("constraints:")) return true;
  return false;
}

bool TrialChanges::empty() const {
  return parameters.empty() && user_attributes.empty() && system_attributes.empty() && intermediate.empty() && !state &&
         values.empty();
}

void set_member(Json& object, const std::string& key, Json value) {
  if (!object.is_object()) object = Json::object();
  object[key] = std::move(value);
}

void apply_changes(TrialRecord& trial, const TrialChanges& changes) {
  for (const TrialParameter& parameter : changes.parameters) put_parameter(trial.parameters, parameter);
  for (const auto& [key, value] : changes.user_attributes) set_member(trial.user_attributes, key, value);
  for (const auto& [key, value] : changes.system_attributes) set_member(trial.system_attributes, key, value);
  for (const auto& entry : changes.intermediate) {
    auto& all = trial.intermediate;
    const auto at = std::ranges::lower_bound(all, entry.first, {}, &std::pair<int64_t, double>::first);
    if (at != all.end() && at->first == entry.first) at->second = entry.second;
    else all.insert(at, entry);
  }
  if (!changes.values.empty()) trial.values = changes.values;
  if (changes.state) trial.state = *changes.state;
  if (changes.started) trial.started = changes.started;
  if (changes.ended) trial.ended = changes.ended;
}

}  // namespace hone
