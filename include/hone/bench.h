// How fast models are, timed in one run against each other, with what their answers are worth beside it.
#pragma once

#include <hone/evaluate.h>

namespace hone::HONE_API_INLINE api {

// begin of BenchOptions, written by generate_api
// end of BenchOptions

// One model beside the first.
struct SpeedComparison {
  double ratio = 1;       // the first model's time by its own: above 1 it takes less
  Interval ci95;          // of the ratio
  double cosine = 1;      // of its first output with the first model's
  bool may_claim = true;  // the two compute the same, so that speeds may be compared at all
  std::string verdict;    // what may be said, in words
};

// The times of one model. Nanoseconds are of one run.
struct TimedModel {
  std::string name, sha256;  // of the files of its weights
  int64_t file_bytes = 0, weight_bytes = 0, arena_bytes = 0, batch = 1;
  double median_ns = 0, min_ns = 0, p90_ns = 0, p99_ns = 0;
  Interval median_ci95_ns;
  std::vector<double> samples_ns;             // in the order of rounds, which all models share
  std::optional<SpeedComparison> comparison;  // with the first model; of itself none
};

// Several models, timed in turn.
struct BenchResult {
  std::vector<TimedModel> models;
  std::optional<EvaluateResult> evaluation;  // where there are data
  std::vector<std::string> notes;            // what one should know, in sentences
};

// Rounds of all models, interleaved in random orders. What only a fresh process shows is left out. Throws Error where
// the models do not take the same inputs or give the same outputs, and where there is no model.
HONE_API BenchResult bench(const std::vector<Model>& models, const BenchOptions& options, const Task& task = {});

}  // namespace hone::HONE_API_INLINEapi
