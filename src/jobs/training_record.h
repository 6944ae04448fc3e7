// What a training run found out, as a record.
#pragma once

#include <string>
#include <vector>

#include "jobs/training_run.h"
#include "report/record.h"

namespace hone {

struct TrainingFacts {
  std::string model, data, output, folder, head, command;
  std::vector<std::string> notes;  // further findings
  std::vector<std::string> classes;
  int64_t trained = 0;    // elements
  TrainingMemory memory;  // as it was planned before the first step
  int64_t resident = 0;   // at most, beyond what the process had before: measured
};

// Findings; "training"; curves of loss, metric and rate; "validation"; "confusion" of few classes.
Record training_record(const TrainingFacts& facts, const TrainingOutcome& outcome);

}  // namespace hone
