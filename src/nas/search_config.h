// What hone search is asked for, as a tree of TOML: by --config, and by flags that set the same keys.
//
//   model = "resnet18.safetensors"     # a file or folder, or what hone build builds
//   data = "reviews.csv"               # seen from the file's folder, as all paths
//   objective = ["accuracy", "bits"]   # search_figures.h
//   budget = ["bytes<=1MB"]
//   trials = 30
//   sampler = "tpe"
//   [train]                            # what all candidates share: keys of the tables of trial_plan.h
//   steps = 200
//   [parameters]                       # the space: search_space.h
//   "train.rate" = {low = 1e-4, high = 1e-2, log = true}
//   [studies.random]                   # several studies of one run: each changes some keys
//   sampler = "random"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "nas/search_figures.h"
#include "nas/supernet.h"
#include "nas/trial_life.h"
#include "nas/trial_plan.h"

namespace hone {

using OptionPairs = std::vector<std::pair<std::string, std::string>>;

// Points to begin with: of so many drawn at random, those with the best of a figure that is known without training.
struct FirstPoints {
  std::string by;  // empty: none
  int64_t of = 64, take = 8;
};

// One study, of one seed.
struct SearchStudy {
  std::string name;   // in its storage
  std::string group;  // of several seeds, what they have in common
  std::string sampler = "tpe", pruner = "none";
  OptionPairs sampler_options, pruner_options;
  std::vector<Objective> objectives;
  std::vector<FigureLimit> limits;
  FirstPoints first;
  std::optional<SupernetConfig> supernet;
  int64_t trials = 30;
  uint64_t seed = 1;
  Json parameters = Json::object(), constraints = Json::array();
  TrialPlan fixed;
  Json shared = Json::object();  // what `fixed` was made of: "train.steps": 200
  LifeOptions life;
  std::string source;  // for errors: "s.toml", "s.toml: study random"
};

// Reads a file, and sees its paths from its folder.
Json read_search_config(const std::string& path);

// Throws Error for unknown keys with the nearest, and for values that are not accepted. `flags`: keys that win. `name`:
// of the study
// ("study"), or which of several.
std::vector<SearchStudy> studies_of(const Json& tree, const Json& flags, const std::string& source,
                                    const std::string& name, const SessionOptions& session);

}  // namespace hone
