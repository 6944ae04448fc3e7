// hone train: a model's weights fitted to data, with checkpoints and logs in a folder.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "jobs/load_model.h"
#include "jobs/run_options.h"
#include "jobs/save_model.h"
#include "jobs/task.h"
#include "jobs/train_options.h"
#include "jobs/training_run.h"
#include "mpi/ranks.h"
#include "runtime/session.h"

namespace hone {

struct TrainModelOptions {
  std::string data;    // a file or a folder
  std::string folder;  // of checkpoints and logs; empty: a scratch one, and nothing of them is kept
  DataOptions reading;
  bool skip_bad = false;  // leave out rows that can't be used
  std::function<void(Dataset&)> dealt = {};  // says which of the rows that were read are in which split
  TrainingOptions training;
  SessionOptions session;  // compute: what products read; weights and sums are f32
  bool resume = false;     // from the folder's last checkpoint, where there is one
  Ranks* ranks = nullptr;  // of which this process is one, each with a share of every batch; rank 0 alone writes
  std::function<void(const Validation&)> validated = {};  // after each validation; what it throws ends the run
};

// The same as a program or another language gives it.
struct TrainOptions : TrainingOptions, DataOptions, RunFlags {
  std::string data, folder;
  bool resume = false, skip_bad = false;

  TrainModelOptions typed() const;
  static std::span<const OptionField<TrainOptions>> fields();  // data, folder, resume and skip-bad come first
};

struct TrainedModel {
  // As it is to be written: every tensor in the type that the original has it in, what rows were made into and what
  // classes are called written down. Empty on ranks but the first.
  Model model;
  std::string head;                  // the new last layer, in words; empty: the model's own
  std::vector<std::string> classes;  // their names, where labels have some
  int64_t trained_elems = 0;
  std::string model_sha256;
  std::string data, data_sha256;   // data: the path
  int64_t data_rows = 0;           // that were trained on
  int64_t data_bytes = 0;          // of its files
  std::string folder;              // of checkpoints and logs
  TrainingMemory planned;          // before the first step
  int64_t resident_bytes = 0;      // at most, beyond what the process had before: measured
  bool is_rounded = false;         // trained against rounding to formats, and packed in them
  std::vector<std::string> notes;  // of teacher, rounding, sizes and ranks: sentences
  TrainingOutcome outcome;         // steps, time, validation, confusion, curves
};

// Throws Error for what no data are needed to see: of the optimizer, and of a teacher that is not there.
void check_training(const TrainingOptions& options);

// Before the first step the context's warn gets, line by line, what the data hold, what is trained, and the memory of a
// step. Throws Error before anything is written where options, data and model don't fit each other; for a loss that is
// no number, naming the step and the first operation that computed NaN or an infinity: the folder's last checkpoint is
// then from before it. With ranks all of them get what is wrong with one before the first step; the result is rank 0's.
TrainedModel train_model(const Model& model, const TrainModelOptions& options, const TaskContext& context = {});
TrainedModel train_model(const Model& model, const TrainOptions& options, const TaskContext& context = {});

// As a file that runs alone; `original`: what was trained.
SavedModel save_trained(const std::string& path, const TrainedModel& trained, const Model& original);

std::string run_folder(const std::string& output);  // where none is named: "out.run" of "out.safetensors"

}  // namespace hone
