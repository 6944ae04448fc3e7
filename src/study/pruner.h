// What ends trials that will not become good ones, by the values that they report on the way. One file each in
// pruners/, found by its PrunerDef. Of one objective only, as in Optuna.
#pragma once

#include <any>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/any_options.h"
#include "study/sampler.h"

namespace hone {

struct PruneContext {
  const StudyView& study;
  TrialRecord& trial;  // with at least one report; the last one is what is decided on
  std::vector<std::pair<std::string, Json>>& new_attributes;

  bool maximizes() const { return study.directions[0] == Direction::maximize; }
  void set_system(const std::string& key, Json value) const {
    set_member(trial.system_attributes, key, value);
    new_attributes.emplace_back(key, std::move(value));
  }
};

class Pruner {
 public:
  virtual ~Pruner() = default;
  virtual bool prune(const PruneContext& context) = 0;
  // Trials of one bracket are compared with each other alone, by samplers too. -1: all are.
  virtual int bracket(const StudyView&, int64_t /*number*/) { return -1; }
};

struct PrunerDef {
  const char* name;
  const char* doc;
  const OptionTable* options;
  std::unique_ptr<Pruner> (*make)(const std::any& options);
};

}  // namespace hone
