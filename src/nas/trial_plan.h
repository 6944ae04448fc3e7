// What a candidate of a search is: a model, what is changed about it, how it is trained and compressed. Every
// parameter of a space sets one key of one of these tables ("train.rate"); what all candidates share is set the same
// way.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "jobs/quantize_model.h"
#include "jobs/train_options.h"
#include "passes/pipelines.h"
#include "prune/prune_weights.h"

namespace hone {

struct TrialPlan {
  std::string model;                         // a file or folder, or what hone build builds
  std::vector<std::string> inputs;           // --inputs of a folder
  std::string model_format;                  // what kind of files it is, where they do not tell
  std::map<std::string, std::string> build;  // keys of the configuration, as JSON
  std::vector<std::string> identities;       // names of layers that are left out
  bool trains = false, prunes = false, retrains = false;
  TrainingOptions train, retrain;  // retrain: after pruning, with weights rounded to their formats on the way
  PruneOptions prune;
  QuantizeOptions quantize;
  std::vector<std::pair<std::string, std::string>> formats;  // of addresses: rules that come after those of `quantize`
  Calibration calibration;
  Compute compute = Compute::f32;

  bool is_built() const;  // model is a preset or a configuration
};

// One table of keys, and what setting one does.
struct Knob {
  const char *table, *doc;
  void (*set)(TrialPlan& plan, const std::string& key, const Json& value);
};
std::span<const Knob> knobs();
std::string knobs_text();  // for --help

// A value as the texts of a command line: one for each element of a list.
std::vector<std::string> option_texts(const Json& value);

// "train.rate", 0.001. Throws Error, the name first, for an unknown table or key with the nearest, and for values that
// are not accepted.
void set_knob(TrialPlan& plan, const std::string& name, const Json& value);

}  // namespace hone
