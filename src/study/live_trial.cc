#include <cmath>

#include "base/error.h"
#include "study/study.h"

namespace hone {

double LiveTrial::suggest(const std::string& name, const DistributionPtr& distribution) {
  return study_->suggest(*this, name, distribution);
}

double LiveTrial::suggest_real(const std::string& name, double low, double high, double step, bool log) {
  return suggest(name, study_->pooled(real_distribution(name, low, high, step, log)));
}

int64_t LiveTrial::suggest_integer(const std::string& name, int64_t low, int64_t high, int64_t step, bool log) {
  return std::llround(suggest(name, study_->pooled(integer_distribution(name, low, high, step, log))));
}

Json LiveTrial::suggest_category(const std::string& name, std::vector<Json> choices) {
  const DistributionPtr distribution = study_->pooled(category_distribution(name, std::move(choices)));
  return distribution->outside(suggest(name, distribution));
}

Json LiveTrial::values() const {
  if (space_) return space_->values(record_.parameters);
  Json all = Json::object();
  for (const TrialParameter& p : record_.parameters) all[p.name] = p.distribution->outside(p.value);
  return all;
}

void LiveTrial::report(double value, int64_t step) {
  if (step < 0) fail("trial {} reported at step {}; steps begin at 0", number(), step);
  const TrialChanges change{.intermediate = {{step, value}}};
  apply_changes(record_, change);
  unwritten_.intermediate.push_back({step, value});
  const std::lock_guard lock(study_->mutex_);
  study_->write(*this);
}

bool LiveTrial::should_prune() { return study_->decide_pruning(*this); }

void LiveTrial::set_user_attribute(const std::string& key, Json value) {
  set_member(record_.user_attributes, key, value);
  unwritten_.user_attributes.emplace_back(key, std::move(value));
}

void LiveTrial::set_constraints(const std::vector<double>& values) {
  for (double value : values)
    if (std::isnan(value)) fail("trial {}: a constraint is NaN", number());
  set_member(record_.system_attributes, kConstraintsKey, values);
  unwritten_.system_attributes.emplace_back(kConstraintsKey, values);
}

}  // namespace hone
