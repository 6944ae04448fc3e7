// hone prune: weights, neighbours, channels, heads or layers that are worth least go, at once or in stages with
// training between them.
#pragma once

#include <string>
#include <vector>

#include "jobs/calibration_data.h"
#include "jobs/candidate.h"
#include "jobs/load_model.h"
#include "jobs/progress.h"
#include "jobs/quantize_model.h"
#include "jobs/train_options.h"
#include "prune/loss_gradients.h"
#include "prune/prune_weights.h"
#include "report/record.h"

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
  CandidateOptions open;        // how the original and the written file are measured beside each other
  double seconds = 0;           // of that; 0: not
  std::string output, command;
  Progress progress = {};
};

// Scores' sources for the graph, from the data, which `reading` says how to read. Throws Error where the method needs
// data, or labels, that are not there.
ScoreSources score_sources(const Model& model, const Graph& graph, const PruneOptions& options, const Calibration& data,
                           double score_rate, const DataOptions& reading = {});

// Batches with their labels, shaped as the graph's predictions are but for the classes. Throws Error where there are
// none, saying that `what` needs them.
LossData loss_data(const Graph& graph, const CalibrationData& read, const std::string& file, const std::string& what);

// Throws Error before anything is written where options, data and model do not fit.
Record prune_model(const Model& model, const PruneModelOptions& options);

// Bytes of all constants, and what they take where those of which many elements are alike are a bitmap and the others'
// values (io/sparse_storage.h).
struct StoredBytes {
  int64_t whole = 0, sparse = 0;
};
StoredBytes stored_bytes(const Graph& graph);

}  // namespace hone
