// hone squeeze, the main job: quantize a model, write it, open what was written, and measure it against the original.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobs/default_inputs.h"
#include "jobs/evaluation.h"
#include "jobs/max_drop.h"
#include "jobs/progress.h"
#include "jobs/quantize_model.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

struct SqueezeOptions {
  std::string model, output;
  std::vector<std::string> inputs;  // --inputs of the model
  QuantizeOptions quantize;
  Calibration calibration;
  Compute compute = Compute::bf16;  // of the result; the original runs as it is stored
  NamedTensors given;               // what outputs are compared on and time is measured with; empty: texts or made up
  std::vector<std::string> texts;   // for models with a tokenizer; empty: sample_texts()
  ShapeOptions shapes;              // of made-up inputs
  EvaluationOptions evaluation;     // what answers are worth, where data are given
  std::optional<MaxDrop> max_drop;  // of the first metric: what loses more is not written
  SessionOptions session;
  std::string program;  // of hone: started for compile times and memory
  double seconds = 20;  // longest measured part
  uint64_t seed = 1;
  std::string command;  // for the record
  Progress progress = {};
};

// Findings; tables "results", "comparison", "agreement", "evaluation" and "tensors"; bars of SQNR per tensor; the graph
// when Graphviz is installed. Throws Error before anything is written when an option or input does not fit.
Record squeeze(const SqueezeOptions& options);

}  // namespace hone
