// What is searched: parameters, when each of them exists, which are tied to others, and what must hold between them.
//
//   Space space;
//   space.add({"rate", real_distribution("rate", 1e-5, 1e-1, 0, true)});
//   space.add({"format", category_distribution("format", {"mxint4", "int4"})});
//   space.add({"group", category_distribution("group", {32, 128}), {{"format", {"int4"}}}});
//   space.tie("value", "key");
//   space.constrain("2*depth + width <= 64");
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/distribution.h"
#include "study/linear_constraint.h"
#include "study/trial_record.h"

namespace hone {

// The parameter exists where the other one has one of these values.
struct SpaceCondition {
  std::string parameter;
  std::vector<Json> values;
};

struct SpaceParameter {
  std::string name;
  Distribution distribution;
  std::vector<SpaceCondition> when = {};  // all of them
};

struct SpaceTie {
  std::string name, same_as;
};

class Space {
 public:
  // Each throws Error for names that are there already or are not, and for values that are not possible.
  void add(SpaceParameter parameter);  // after those that its conditions name
  void tie(const std::string& name, const std::string& same_as);
  void constrain(const std::string& inequality);

  const std::vector<SpaceParameter>& parameters() const { return parameters_; }
  const std::vector<SpaceTie>& ties() const { return ties_; }
  const std::vector<LinearConstraint>& constraints() const { return constraints_; }
  const SpaceParameter* find(std::string_view name) const;

  bool is_active(const SpaceParameter& parameter, std::span<const TrialParameter> chosen) const;
  double violation(std::span<const TrialParameter> chosen) const;  // 0: all constraints hold

  // The chosen values as JSON by name, those of tied parameters too.
  Json values(std::span<const TrialParameter> chosen) const;

  // How many points a grid has (conditions are not counted down); 0 with a continuum in it.
  double grid_size() const;

 private:
  void require_new(const std::string& name) const;
  const SpaceParameter& get(const std::string& name, std::string_view asked_by) const;

  std::vector<SpaceParameter> parameters_;  // what conditions name comes first
  std::vector<SpaceTie> ties_;
  std::vector<LinearConstraint> constraints_;
};

// Of a TOML file, read into a tree (io/toml.h); `source` is its name:
//   constraints = ["2*depth + width <= 64"]
//   [parameters]
//   rate = {low = 1e-5, high = 1e-1, log = true}       # a float; of two integers without `type`, an int
//   depth = {type = "int", low = 2, high = 12, step = 2}
//   format = ["mxint4", "int4"]                        # or {choices = [...]}
//   group = {choices = [32, 128], when = {format = "int4"}}
//   value = {same_as = "key"}
Space parse_space(const Json& tree, const std::string& source);

}  // namespace hone
