#include "views/study_csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/csv.h"
#include "study/python_json.h"
#include "study/timestamp.h"

namespace hone {
namespace {

std::string json_text(const TrialParameter& p) {
  const bool is_integer = p.distribution->kind == DistributionKind::integer;
  return is_integer ? p.distribution->text(p.value) : python_json(p.distribution->outside(p.value));
}

}  // namespace

std::string csv_of(const OpenedStudy& study) {
  std::vector<std::string> parameters, attributes;
  const auto add = [](std::vector<std::string>& all, const std::string& name) {
    if (std::ranges::find(all, name) == all.end()) all.push_back(name);
  };
  for (const TrialPtr& trial : *study.trials) {
    for (const TrialParameter& p : trial->parameters) add(parameters, p.name);
    if (trial->user_attributes.is_object())
      for (const auto& [key, value] : trial->user_attributes.items()) add(attributes, key);
  }
  std::string csv = "number,state,started,ended";
  for (const std::string& name : study.objectives()) csv += "," + csv_cell(name);
  for (const std::string& name : parameters) csv += "," + csv_cell("parameter " + name);
  for (const std::string& name : attributes) csv += "," + csv_cell("attribute " + name);
  for (const TrialPtr& trial : *study.trials) {
    csv += fmt::format("\n{},{},{},{}", trial->number, to_string(trial->state),
                       trial->started ? sql_time(*trial->started) : "", trial->ended ? sql_time(*trial->ended) : "");
    for (size_t i = 0; i < study.record.directions.size(); ++i)
      csv += "," + (i < trial->values.size() ? fmt::format("{}", trial->values[i]) : std::string());
    for (const std::string& name : parameters) {
      const TrialParameter* p = trial->find(name);
      const Json value = p ? p->distribution->outside(p->value) : Json();
      csv += "," + (p ? csv_cell(value.is_string() ? value.get<std::string>() : json_text(*p)) : std::string());
    }
    for (const std::string& key : attributes) {
      const bool has = trial->user_attributes.is_object() && trial->user_attributes.contains(key);
      const Json value = has ? trial->user_attributes.at(key) : Json();
      csv += "," + (has ? csv_cell(value.is_string() ? value.get<std::string>() : python_json(value)) : std::string());
    }
  }
  return csv + "\n";
}

}  // namespace hone
