// A model pruned by several methods to several sparsities, and on demand trained after each as well.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/format_study.h"
#include "jobs/task.h"
#include "jobs/train_model.h"
#include "prune/prune_weights.h"

namespace hone {

// "0.5", "0.1,0.5", "0.1:0.9" in steps of a tenth, "0.5:0.9:0.05". Throws Error for numbers outside [0,1) and more than
// a thousand of them.
std::vector<double> parse_sparsities(const std::string& text);

struct PruneSweepOptions {
  std::vector<double> sparsities;
  std::vector<std::string> methods;
  PruneOptions prune;             // all but the method and the sparsity
  Calibration data, calibration;  // what outputs are compared on, what scores learn from
  EvaluationOptions judged;
  std::optional<TrainModelOptions> training = {};  // of what is left, where zeros stay; none: it is not trained
  SessionOptions session;
  std::string measurements;  // file in which they are remembered; empty: none
};

// The model pruned by one method to one sparsity, measured.
struct SweptPruning {
  std::string method;
  double sparsity = 0;
  bool trained = false;  // after it was pruned
  OutputDistance selecting, held_out;
  int64_t parameters = 0, sparse_bytes = 0;  // sparse: zeros as a bitmap
};

struct PruneSweep {
  StudyFacts study;
  std::vector<std::string> methods;
  bool trains = false;
  std::vector<SweptPruning> prunings;  // by method, then sparsity; with training each one pruned, then trained
  std::optional<SweptPruning> original, original_trained;  // with training: as it is, and trained as long unpruned
  int64_t measured = 0, recalled = 0;
};

// The weights that hone prune would take out of the model. With `measurements` it goes on where they end.
PruneSweep sweep_pruning(const Model& model, const PruneSweepOptions& options, const TaskContext& context = {});

}  // namespace hone
