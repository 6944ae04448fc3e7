// hone evaluate: what models' answers to a data set are worth, with intervals, and how they differ from the first's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobs/agreement.h"
#include "jobs/evaluation.h"
#include "report/record.h"

namespace hone {

struct ModelQuality {
  std::string name;
  Evaluated evaluated;
  std::vector<Difference> differences;  // to the first model, by figure; of itself none
  std::optional<Agreement> agreement;   // with the first model, where that is asked for
};

struct QualityOptions {
  std::vector<std::string> inputs;  // --inputs of the folders among the models
  EvaluationOptions evaluation;
  AgreementOptions agreement;
  SessionOptions session;
  Progress progress = {};
};

// Of several models on the same rows.
struct QualityComparison {
  std::string data;  // "1,000 rows of test of reviews.csv"
  std::vector<ModelQuality> models;
  std::vector<std::string> notes;  // what one must know of the data
  std::vector<std::string> class_names;
  std::vector<ManifestEntry> manifest;  // the models and the data
};
QualityComparison compare_quality(const std::vector<std::string>& models, const QualityOptions& options);
std::vector<std::string> findings_of(const QualityComparison& comparison);
std::vector<Block> tables_of(const QualityComparison& comparison, const AgreementOptions& agreement = {});

// Findings, a section "Answers" and the data's entry of the manifest, for the record of another job on the models.
void add_quality(Record& record, const QualityComparison& comparison);

struct EvaluateOptions {
  std::vector<std::string> models;  // the first is what the others are compared with
  QualityOptions quality;
  std::string command;  // for the record
};

// Tables "evaluation", "confusion" where there are classes, "agreement" on demand. Throws Error when the data don't fit
// the metrics or a model, and for agreement of a single model.
Record evaluate(const EvaluateOptions& options);

}  // namespace hone
