// hone prune: weights, neighbours, channels, heads or layers that are worth least go, at once or in stages with
// training between them.
#pragma once

#include <string>
#include <vector>

#include "jobs/calibration_data.h"
#include "jobs/load_model.h"
#include "jobs/quantize_model.h"
#include "jobs/run_options.h"
#include "jobs/save_model.h"
#include "jobs/task.h"
#include "jobs/train_options.h"
#include "jobs/training_run.h"
#include "prune/loss_gradients.h"
#include "prune/prune_weights.h"

namespace hone {

struct PruneSchedule {
  std::string schedule = "one-shot";  // gradual: more in each stage, s (1 - (1 - t/n)³); iterative: the same share of
                                      // what is left, and the weights begin anew as they were
  int64_t stages = 4;
  double score_rate = 1e-3;  // of the descent that the score movement follows
};
std::span<const OptionField<PruneSchedule>> prune_schedule_fields();

struct PruneModelOptions {
  PruneOptions prune;
  PruneSchedule schedule;
  Calibration data;             // what scores and training learn from; file empty: none
  std::string train_config;     // TOML of hone train: of the training after each stage; empty: none
  std::string store = "whole";  // sparse: as a bitmap and the values that are left, where that is smaller
};

// The same as a program or another language gives it.
struct PruneFlags : PruneOptions, PruneSchedule, RunFlags {
  std::string data, train_config, store = "whole";
  int64_t rows_at_once = 16;

  PruneModelOptions typed() const;
  static std::span<const OptionField<PruneFlags>> own_fields();  // all but those of RunFlags
  static std::span<const OptionField<PruneFlags>> fields();
};

// Bytes of all constants, and what they take where those of which many elements are alike are a bitmap and the others'
// values (io/sparse_storage.h).
struct StoredBytes {
  int64_t whole = 0, sparse = 0;
};
StoredBytes stored_bytes(const Graph& graph);

// Of the training after one stage.
struct StageTraining {
  TrainingOutcome outcome;
  int64_t data_rows = 0;
  std::string data;  // the path
};

struct PrunedModel {
  Model model;              // as it is to be written
  std::string structure;    // what went: PruneOptions::structure
  bool is_smaller = false;  // parts went; else their weights are 0
  bool is_sparse = false;   // it is stored as a bitmap and values
  int64_t weights_before = 0, weights_after = 0;
  StoredBytes stored;
  std::vector<PrunedPart> parts;         // of the last stage
  std::vector<std::string> passed_over;  // weights that are not looked at: a sentence each
  std::vector<StageTraining> trained;    // by stage
};

// Scores' sources for the graph, from the data, which `reading` says how to read. Throws Error where the method needs
// data, or labels, that are not there.
ScoreSources score_sources(const Model& model, const Graph& graph, const PruneOptions& options, const Calibration& data,
                           double score_rate, const DataOptions& reading = {});

// Batches with their labels, shaped as the graph's predictions are but for the classes. Throws Error where there are
// none, saying that `what` needs them.
LossData loss_data(const Graph& graph, const CalibrationData& read, const std::string& file, const std::string& what);

// Throws Error where options, data and model do not fit.
PrunedModel prune_model(const Model& model, const PruneModelOptions& options, const TaskContext& context = {});
PrunedModel prune_model(const Model& model, const PruneFlags& options, const TaskContext& context = {});

// Throws Error where no file of that name has the options' storage.
void check_storage(const PruneModelOptions& options, const std::string& output);

// As a file that runs alone; `original`: what was pruned.
SavedModel save_pruned(const std::string& path, const PrunedModel& pruned, const Model& original);

}  // namespace hone
