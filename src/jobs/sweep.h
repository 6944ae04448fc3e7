// hone sweep: a model in one number format after the other, as curves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobs/evaluation.h"
#include "jobs/progress.h"
#include "jobs/quantize_model.h"
#include "jobs/train_model.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

struct SweepOptions {
  std::string model, folder;  // folder: where sweep.csv, the plots and what was measured go
  std::vector<std::string> inputs;
  std::vector<std::string> formats;  // canonical, in the order in which they are measured
  bool activations = false;          // inputs of products too, not only weights
  QuantizeOptions quantize;          // all but the format
  Calibration data, calibration;     // what outputs are compared on, what methods learn from (StudyOptions)
  EvaluationOptions judged;          // by what
  // How the model is trained in each format as well, beside being quantized after training: all but the
  // rules. None: it is not.
  std::optional<TrainModelOptions> training = {};
  SessionOptions session;
  std::string command;
  Progress progress = {};
};

// Table "sweep", curves of all families in one plot, and the best so far by trial; the same as files in the folder. A
// folder with measurements of the same model, data and options is gone on with.
Record sweep(const SweepOptions& options);

}  // namespace hone
