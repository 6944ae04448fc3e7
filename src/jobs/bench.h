// hone bench: models against each other in one run, by the protocol of docs/DESIGN.md section 5: phases never merged,
// interleaved rounds, medians with intervals, correctness beside speed.
#pragma once

#include <string>
#include <vector>

#include "jobs/candidate.h"
#include "jobs/comparison.h"
#include "jobs/evaluation.h"
#include "jobs/progress.h"
#include "report/record.h"

namespace hone {

struct BenchOptions {
  std::vector<std::string> models;  // the first is what the others are compared with
  CandidateOptions open;
  std::string program;  // of hone: started for what only a fresh process shows; empty: those columns are missing
  double seconds = 20;  // longest measured part
  EvaluationOptions evaluation;  // what their answers are worth, where data are given
  bool lab = false;              // the coursework's protocol beside ours (lab_protocol.h)
  std::string samples;           // CSV file for the nanoseconds of every round; empty: none
  std::string command;           // for the record
  Progress progress = {};
};

// Table "results" (model batch threads compute median_ms ci95_ms ... peak_bytes), "comparison" when there are several
// models, "evaluation" where there are data (evaluate.h), "lab" on demand, and the machine. No speed is claimed for a
// model whose first output is not that of the first model, by a cosine of kLeastCosine (comparison.h), and "pays after"
// stands only where it is faster. Throws Error when the models don't take the same inputs or give the same outputs.
Record bench(const BenchOptions& options);

}  // namespace hone
