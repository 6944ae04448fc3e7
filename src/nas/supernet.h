// The supernet of a search: the largest network of its space, trained once together with smaller ones of it
// (train/supernet.h), whose weights candidates begin with.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jobs/load_model.h"
#include "jobs/progress.h"
#include "jobs/train_options.h"
#include "jobs/training_data.h"
#include "nas/trial_plan.h"
#include "study/space.h"

namespace hone {

// The table [supernet] of a search.
struct SupernetConfig : TrainingOptions {
  SupernetConfig() { epochs = 0; }
  int64_t sub_nets = 2;    // of each step, beside the largest and the smallest
  int64_t points = 16;     // different ones that are drawn from
  int64_t statistics = 4;  // batches that a candidate's batch norms are measured on
  std::string file;        // where it is kept; empty: made by each run anew

  static std::span<const OptionField<SupernetConfig>> fields();
  std::string decisive() const;  // the keys that decide its bits, as TOML
};
// Throws Error for an unknown key with the nearest, and for values that are not accepted.
SupernetConfig read_supernet(const Json& table, const std::string& source);

struct SupernetRequest {
  const SupernetConfig& config;
  const Space& space;
  const TrialPlan& fixed;
  std::string data;
  DataOptions reading;
  SessionOptions session;
  std::function<Model(const TrialPlan& plan)> network;  // as it is before training, in the form for it
  std::string parent_sha256 = {};                       // of what `network` inherits; empty: nothing
  Progress progress = {};
};

// Whether the space has networks of several sizes. Throws Error, which says why there can't be a supernet, where it has
// none, or where its corners are no parts of the largest: nothing is trained.
void check_supernet(const SupernetRequest& request);

class Supernet {
 public:
  // Trains it, or reads it from the file, or goes on with what the file has. Throws Error for a file that is of other
  // data, options or another space.
  explicit Supernet(const SupernetRequest& request);

  // The network with its part of the weights, the statistics of batch norms measured anew.
  Model begun(Model network) const;

  const std::string& what() const { return what_; }  // "supernet: 300 steps with 16 networks, loss 0.41"

 private:
  void train(const SupernetRequest& request, const std::string& identity, const std::string& options);

  SessionOptions session_;
  Graph largest_;
  std::optional<TrainingData> data_;
  std::vector<NamedTensors> batches_;  // that batch norms are measured on; none where there are none
  std::string what_;
};

}  // namespace hone
