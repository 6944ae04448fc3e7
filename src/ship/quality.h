// What a changed model's answers to rows of the data are worth beside the original's: by a metric of right answers, by
// a program of the user's, or, where nothing is known to be right, by how closely they follow the original's.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "jobs/evaluation.h"
#include "jobs/task.h"
#include "measure/estimate.h"
#include "runtime/session.h"

namespace hone {

// How the figure is called and read.
struct FigureKind {
  std::string title;  // "accuracy", "same class as the original"
  bool is_share = false, larger_is_better = true;
  bool follows_original = false;  // of agreement: the original has all of it
  bool is_noticed = true;         // users notice a loss of 1 %; of neighbors among similar texts they do not
};

struct AnswerQuality {
  std::optional<Estimate> figure;        // none: the outputs have no form in which users would notice
  std::optional<Difference> difference;  // of it to the original's, on the same rows
  double error = 0;  // of the outputs, relative, squared; infinite where that is no number or not known
  std::optional<Interval> error_ci95;
  double loss = 0;  // what choices are compared by: the smaller, the nearer to right
};

class QualityMeter {
 public:
  virtual ~QualityMeter() = default;
  virtual AnswerQuality of(const Graph& changed) const = 0;
  virtual AnswerQuality of_original() const = 0;
  const std::optional<FigureKind>& kind() const { return kind_; }
  int64_t rows() const { return rows_; }

 protected:
  std::optional<FigureKind> kind_;
  int64_t rows_ = 0;
};

// Runs the original. `options.metrics` names one metric at most, "agreement", or "cmd:PROGRAM". Throws Error where the
// metric does not fit the data, the data not the model, or the program fails.
std::unique_ptr<QualityMeter> quality_meter(const Model& original, EvaluationData data,
                                            const EvaluationOptions& options, const SessionOptions& session,
                                            const TaskContext& context);

// Whether the data are pairs of texts that the model reads apart.
bool reads_pairs_apart(const Model& model, const EvaluationData& data, const EvaluationOptions& options);

std::string figure_text(const FigureKind& kind, const Estimate& estimate);          // "91.20 % (90.10-92.20)"
std::string difference_text(const FigureKind& kind, const Difference& difference);  // measure/claim.h's words
std::string value_text(const FigureKind& kind, double value);                       // "1.20 points", "0.012"

}  // namespace hone
