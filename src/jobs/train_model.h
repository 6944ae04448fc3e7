// hone train: a model's weights fitted to data, with checkpoints, logs, and the trained model as a file that runs
// alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "jobs/progress.h"
#include "jobs/train_options.h"
#include "jobs/training_run.h"
#include "mpi/ranks.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

struct TrainModelOptions {
  std::string model, data, output;
  std::string folder;               // of checkpoints and logs; empty: OUTPUT without its ending, and ".run"
  std::vector<std::string> inputs;  // --inputs of the model
  DataOptions reading;
  bool skip_bad = false;  // leave out rows that can't be used
  TrainingOptions training;
  SessionOptions session;  // compute: what products read; weights and sums are f32
  bool resume = false;     // from the folder's last checkpoint, where there is one
  Ranks* ranks = nullptr;  // of which this process is one, each with a share of every batch; rank 0 alone writes
  std::string command;     // for the record
  Progress progress = {};
  std::function<void(const Validation&)> validated = {};  // after each validation; what it throws ends the run
};

std::string run_folder(const TrainModelOptions& options);

// Before the first step: what the data hold, what is trained, and the memory of a step, given to `say` line by line.
using Say = std::function<void(const std::string& line)>;

// Findings; curves of loss, metric and rate; tables "validation" and "confusion". Throws Error before anything is
// written where options, data and model don't fit each other; for a loss that is no number, naming the step and the
// first operation that computed NaN or an infinity: the folder's last checkpoint is then from before it. With ranks all
// of them get what is wrong with one before the first step; the Record is rank 0's, that of others is empty.
Record train_model(const TrainModelOptions& options, const Say& say = {});

}  // namespace hone
