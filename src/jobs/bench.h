// hone bench: models against each other in one run, by the protocol of docs/DESIGN.md section 5: phases never merged,
// interleaved rounds, medians with intervals, correctness beside speed.
#pragma once

#include <string>
#include <vector>

#include "jobs/default_inputs.h"
#include "jobs/progress.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

struct BenchOptions {
  std::vector<std::string> models;  // the first is what the others are compared with
  std::vector<std::string> inputs;  // --inputs of the models
  NamedTensors given;               // inputs read from files; empty: made up, seeded
  ShapeOptions shapes;
  SessionOptions session;  // compute: of all models; none: as each was stored
  std::string program;     // of hone: started for what only a fresh process shows; empty: those columns are missing
  double seconds = 20;     // longest measured part
  uint64_t seed = 1;
  std::string command;  // for the record
  Progress progress = {};
};

// Table "results" (model batch threads compute median_ms ci95_ms ... peak_bytes), "comparison" when there are several
// models, and the machine. Throws Error when the models don't take the same inputs.
Record bench(const BenchOptions& options);

}  // namespace hone
