#include "study/space.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace hone {
namespace {

const TrialParameter* chosen_value(std::span<const TrialParameter> chosen, std::string_view name) {
  const auto at = std::ranges::find(chosen, name, &TrialParameter::name);
  return at == chosen.end() ? nullptr : &*at;
}

bool has_numbers_only(const Distribution& distribution) {
  return std::ranges::all_of(distribution.choices, [](const Json& choice) { return choice.is_number(); });
}

}  // namespace

const SpaceParameter* Space::find(std::string_view name) const {
  const auto at = std::ranges::find(parameters_, name, &SpaceParameter::name);
  return at == parameters_.end() ? nullptr : &*at;
}

void Space::require_new(const std::string& name) const {
  if (name.empty()) fail("a parameter has no name");
  if (name.size() > 512) fail("a parameter's name has {} bytes; at most 512 can be stored", name.size());
  if (find(name) || std::ranges::find(ties_, name, &SpaceTie::name) != ties_.end())
    fail("parameter {} stands in the space twice", name);
}

const SpaceParameter& Space::get(const std::string& name, std::string_view asked_by) const {
  if (const SpaceParameter* parameter = find(name)) return *parameter;
  if (std::ranges::find(ties_, name, &SpaceTie::name) != ties_.end())
    fail("{}: parameter {} is tied to another; name that one", asked_by, name);
  std::vector<std::string> names;
  for (const SpaceParameter& parameter : parameters_) names.push_back(parameter.name);
  fail("{}: unknown parameter {}{}", asked_by, name, did_you_mean(name, names));
}

void Space::add(SpaceParameter parameter) {
  require_new(parameter.name);
  for (const SpaceCondition& condition : parameter.when) {
    const std::string asked_by = "condition of " + parameter.name;
    const Distribution& other = get(condition.parameter, asked_by).distribution;
    if (condition.values.empty()) fail("{}: no value of {} is given", asked_by, condition.parameter);
    for (const Json& value : condition.values)
      if (!other.contains(other.inside(value, condition.parameter)))
        fail("{}: {} is no value of {}, which is {}", asked_by, json_excerpt(value), condition.parameter,
             other.describe());
  }
  parameters_.push_back(std::move(parameter));
}

void Space::tie(const std::string& name, const std::string& same_as) {
  require_new(name);
  get(same_as, "tie of " + name);
  ties_.push_back({name, same_as});
}

void Space::constrain(const std::string& inequality) {
  LinearConstraint constraint = parse_linear_constraint(inequality);
  for (const auto& [factor, name] : constraint.terms) {
    const SpaceParameter& parameter = get(name, "constraint \"" + inequality + "\"");
    if (parameter.distribution.is_category() && !has_numbers_only(parameter.distribution))
      fail("constraint \"{}\": the choices of {} are no numbers", inequality, name);
  }
  constraints_.push_back(std::move(constraint));
}

bool Space::is_active(const SpaceParameter& parameter, std::span<const TrialParameter> chosen) const {
  return std::ranges::all_of(parameter.when, [&](const SpaceCondition& condition) {
    const TrialParameter* other = chosen_value(chosen, condition.parameter);
    return other && std::ranges::any_of(condition.values, [&](const Json& value) {
             return other->distribution->inside(value, condition.parameter) == other->value;
           });
  });
}

double Space::violation(std::span<const TrialParameter> chosen) const {
  double sum = 0;
  for (const LinearConstraint& constraint : constraints_)
    sum += constraint.violation([&](const std::string& name) -> std::optional<double> {
      const TrialParameter* parameter = chosen_value(chosen, name);
      if (!parameter) return std::nullopt;
      return parameter->distribution->outside(parameter->value).get<double>();
    });
  return sum;
}

Json Space::values(std::span<const TrialParameter> chosen) const {
  Json all = Json::object();
  for (const SpaceParameter& parameter : parameters_)
    if (const TrialParameter* p = chosen_value(chosen, parameter.name))
      all[p->name] = p->distribution->outside(p->value);
  for (const SpaceTie& tie : ties_)
    if (all.contains(tie.same_as)) all[tie.name] = all.at(tie.same_as);
  return all;
}

double Space::grid_size() const {
  double size = 1;
  for (const SpaceParameter& parameter : parameters_) size *= static_cast<double>(parameter.distribution.size());
  return size;
}

}  // namespace hone
