// What proposes the next trial. One file each in samplers/, found by its SamplerDef.
//
// A trial's random numbers depend on the seed and its number alone, so that a study of one worker is the same bit for
// bit however often it was stopped.
#pragma once

#include <any>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/any_options.h"
#include "base/philox.h"
#include "study/knapsack.h"
#include "study/space.h"
#include "study/trial_record.h"

namespace hone {

// Directions and trials as a sampler or pruner may see them. Where a pruner divides trials into brackets, of one alone.
struct StudyView {
  std::string_view name;
  std::span<const Direction> directions;
  std::span<const TrialPtr> trials;
  int bracket = -1;
};

// The trial that is being made.
struct SampleContext {
  const StudyView& study;
  TrialRecord& trial;  // what it has so far; attributes may be added by set_system
  const Space* space;  // null: parameters are asked for one by one, and what comes is not known
  Philox& rng;
  std::vector<std::pair<std::string, Json>>& new_attributes;  // system attributes, stored with the trial
  int attempt = 0;                                            // how many points of this trial violated constraints

  void set_system(const std::string& key, Json value) const {
    set_member(trial.system_attributes, key, value);
    new_attributes.emplace_back(key, std::move(value));
  }
};

// What choices of some parameters cost, and what they are expected to lose, measured ahead.
struct ChoiceTable {
  std::vector<std::string> parameters;     // categories of the space
  std::vector<std::vector<Choice>> items;  // of each, by choice
  std::optional<double> budget;            // of the sum of costs; none: any
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  // Of samplers that solve for what was measured: they are given it before the first trial.
  virtual bool learns() const { return false; }
  virtual void learn(ChoiceTable) {}
  // Values of parameters that are chosen together, before any is asked for.
  virtual std::vector<TrialParameter> relative(const SampleContext&) { return {}; }
  // The value, inside, of a parameter that relative() did not give. Never asked where only one is possible.
  virtual double independent(const SampleContext& context, const std::string& name,
                             const DistributionPtr& distribution) = 0;
  // Where a trial violates a space's constraints, another is drawn; not by samplers that would give the same again.
  virtual bool draws_again() const { return true; }
  // Whether it looks at trials at all. Where it does not, and no pruner does, they are not read from the storage.
  virtual bool reads_trials() const { return true; }
  // Why no further trial is of use: all points of a grid are taken.
  virtual std::optional<std::string> exhausted(const StudyView&, const Space*) { return std::nullopt; }
};

struct SamplerDef {
  const char* name;
  const char* doc;
  const OptionTable* options;
  std::unique_ptr<Sampler> (*make)(const std::any& options, uint64_t seed);
};

// Uniform, or in the logarithm; the value, inside.
double uniform_value(const Distribution& distribution, Philox& rng);
double value_at_quantile(const Distribution& distribution, double u);  // 0 <= u < 1

}  // namespace hone
