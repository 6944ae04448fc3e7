// Training: a model's weights fitted to data.
#pragma once

#include <hone/evaluate.h>

namespace hone::HONE_API_INLINE api {

// begin of TrainOptions, written by generate_api
// end of TrainOptions

// What was written down of a step, or of a validation.
struct TrainingEntry {
  int64_t step = 0;                      // how many updates were made
  double epoch = 0;                      // how often the data were seen
  std::string split;                     // "train", "validation"
  double seconds = 0;                    // of work since training began
  std::map<std::string, double> values;  // loss, rate, accuracy, …
};

// Figures on the rows that are kept for validation.
struct ValidationResult {
  int64_t step = 0;
  double loss = 0, metric = 0;
  std::optional<Interval> metric_ci95;  // none: of a validation on the way
};

// A trained model, and how it came about.
struct TrainResult {
  Model model;                       // with the best weights of those that were validated, else the last
  std::vector<std::string> classes;  // their names, where labels have some
  int64_t trained_elements = 0, data_rows = 0, steps = 0;
  double seconds = 0;
  std::optional<ValidationResult> best, last;  // none: nothing to validate on
  std::string ended;                           // why before the last step; empty: it did not
  std::vector<TrainingEntry> history;
  std::vector<std::string> notes;  // in sentences
};

// Throws Error before the first step where options, data and model do not fit each other; and for a loss that is no
// number, naming the first operation that computed one. Checkpoints and logs go into TrainOptions::folder.
HONE_API TrainResult train(const Model& model, const TrainOptions& options, const Task& task = {});

}  // namespace hone::HONE_API_INLINEapi
