// hone sweep --sparsity: a model pruned by several methods to several sparsities, as curves.
#pragma once

#include <string>
#include <vector>

#include "jobs/evaluation.h"
#include "jobs/progress.h"
#include "jobs/quantize_model.h"
#include "prune/prune_weights.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

// "0.5", "0.1,0.5", "0.1:0.9" in steps of a tenth, "0.5:0.9:0.05". Throws Error for numbers outside [0,1) and more than
// a thousand of them.
std::vector<double> parse_sparsities(const std::string& text);

struct PruneSweepOptions {
  std::string model, folder;  // folder: where sweep.csv, the plots and what was measured go
  std::vector<std::string> inputs;
  std::vector<double> sparsities;
  std::vector<std::string> methods;
  PruneOptions prune;             // all but the method and the sparsity
  Calibration data, calibration;  // what outputs are compared on, what scores learn from
  EvaluationOptions judged;
  SessionOptions session;
  std::string command;
  Progress progress = {};
};

// Table "sweep", and a curve for each method; the same as files in the folder, where measurements are remembered.
Record prune_sweep(const PruneSweepOptions& options);

}  // namespace hone
