// What models' answers to a data set are worth, with intervals, and how they differ.
#pragma once

#include <hone/model.h>

#include <optional>
#include <utility>

namespace hone::HONE_API_INLINE api {

// begin of EvaluateOptions, written by generate_api
// end of EvaluateOptions

// From its low to its high end, at 95 % confidence.
struct Interval {
  double low = 0, high = 0;
};

// One metric of one model.
struct Figure {
  std::string name, title;       // "accuracy"
  double value = 0;              // a share is from 0 to 1
  std::optional<Interval> ci95;  // none: too few samples, or a program's own number
  int64_t samples = 0;           // that it is computed from
  bool is_share = false;         // people read it in per cent
  bool larger_is_better = true;  // else smaller is
};

// A figure less that of the first model, on the same samples.
struct FigureDifference {
  double value = 0;
  std::optional<Interval> ci95;
};

// What the answers of one model are worth.
struct EvaluatedModel {
  std::string name, sha256;  // of the files of its weights
  int64_t file_bytes = 0;
  std::vector<Figure> figures;
  std::vector<FigureDifference> differences;  // by figure; of the first model none
};

// Several models on the same rows.
struct EvaluateResult {
  std::string data;  // "1,000 rows of test of reviews.csv"
  std::vector<EvaluatedModel> models;
  std::vector<std::string> class_names;
  std::vector<std::string> notes;  // what one must know of the data, in sentences
};

// The first model is what the others are compared with. Throws Error where the data do not fit the metrics or a model,
// and where there is no model.
HONE_API EvaluateResult evaluate(const std::vector<Model>& models, const EvaluateOptions& options,
                                 const Task& task = {});

}  // namespace hone::HONE_API_INLINEapi
