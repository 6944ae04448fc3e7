// hone evaluate: what models' answers to a data set are worth, with intervals, and how they differ from the first's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobs/agreement.h"
#include "jobs/evaluation.h"
#include "jobs/evaluation_flags.h"
#include "jobs/file_facts.h"
#include "jobs/long_texts.h"
#include "jobs/run_options.h"
#include "jobs/task.h"
#include "measure/environment.h"

namespace hone {

struct ModelQuality {
  std::string name;
  FileFacts file;
  Evaluated evaluated;
  std::vector<Difference> differences;  // to the first model, by figure; of itself none
  std::optional<Agreement> agreement;   // with the first model, where that is asked for
};

struct QualityOptions {
  EvaluationOptions evaluation;
  AgreementOptions agreement;
  SessionOptions session;
  WindowOptions windows;  // in which texts are read, if at all
};

// Of several models on the same rows.
struct QualityComparison {
  std::string data;     // "1,000 rows of test of reviews.csv"
  FileFacts data_file;  // what they were read from
  std::vector<ModelQuality> models;
  std::vector<std::string> notes;  // what one must know of the data
  std::vector<std::string> class_names;
  Environment environment;  // in which the models ran
};

// The first is what the others are compared with. Throws Error when the data don't fit the metrics or a model, and for
// agreement of a single model.
QualityComparison compare_quality(std::span<const Model> models, const QualityOptions& options,
                                  const TaskContext& context = {});

struct EvaluateOptions : EvaluationFlags, RunFlags {
  uint64_t seed = 1;  // of drawn rows and of intervals
  std::string answers = "by-name";
  double least_score = AgreementOptions().least_score, least_iou = AgreementOptions().least_iou;
  int64_t neighbours = AgreementOptions().neighbours;
  int64_t window = 0, stride = 0;

  QualityOptions quality() const;
  static std::span<const OptionField<EvaluateOptions>> fields();
  static std::span<const OptionField<EvaluateOptions>> own_fields();  // of these, all but those of RunFlags
};

QualityComparison evaluate(std::span<const Model> models, const EvaluateOptions& options,
                           const TaskContext& context = {});

}  // namespace hone
