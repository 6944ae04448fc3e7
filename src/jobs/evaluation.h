// What a model's answers to a data set are worth: the one loop that evaluate, bench, squeeze, sweep and allocate share.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobs/calibration_data.h"
#include "jobs/evaluation_data.h"
#include "jobs/masked_words.h"
#include "jobs/progress.h"
#include "jobs/row_inputs.h"
#include "measure/judge.h"
#include "runtime/session.h"

namespace hone {

struct EvaluationOptions {
  DataChoice data;
  std::vector<std::string> metrics;  // names, "retrieval", "agreement", "cmd:PROGRAM"; empty: what suits the data
  std::string output;                // of the model; empty: the one that fits
  int64_t max_length = 0;            // of texts, in tokens; 0: as in training, else what the model takes
  double command_seconds = 600;      // that a PROGRAM may take
  bool given() const { return !data.path.empty(); }
};

// One metric of one model.
struct Figure {
  std::string name, title;
  std::optional<Metric> metric;  // none: a program's number, of which larger is better
  Evidence evidence;
  Estimate estimate;
  bool is_share() const { return metric && metric->def->is_share; }
  bool larger_is_better() const { return !metric || metric->def->larger_is_better; }
};
// "91.20 % (90.10-92.20)"
std::string text_of(const Figure& figure);
std::string figure_text(double value, const std::optional<Interval>& ci95, bool is_share);

// Of the outputs of a run, the one that is judged: that of the name, or the only one that may be. Throws Error.
size_t choose_output(const std::string& model, const std::vector<std::string>& names,
                     const std::vector<Tensor>& outputs, const std::string& name, Judged judged, TargetKind kind);

// measure/claim.h's words for it.
std::string difference_text(const std::optional<Metric>& metric, const Difference& difference);

struct Evaluated {
  std::vector<Figure> figures;
  std::optional<Confusion> confusion;  // where there are classes
  int64_t samples = 0;
};

// That of `other` less that of `base`, on the same samples. Of a program's number without an interval.
Difference difference_of(const Figure& base, const Figure& other, uint64_t seed);

// The metrics that suit a model and data.
class Evaluation {
 public:
  // Throws Error for metrics that don't fit the data. `data` must outlive this, `model` need not.
  Evaluation(const Model& model, const EvaluationData& data, const EvaluationOptions& options);

  // Metrics of two models are of this one beside `reference`, which may be the same. Throws Error where the model's
  // outputs don't fit the data, or the reference's them, and for such a metric without one.
  Evaluated run(Session& session, const Progress& progress = {}, Session* reference = nullptr) const;

  // For whoever runs the model themselves.
  int64_t batches() const;
  std::span<const int64_t> rows(int64_t batch) const;
  NamedTensors inputs(int64_t batch, bool second = false) const;  // second: of the second text of each pair
  RightAnswers right(int64_t batch) const;

  const std::vector<Metric>& metrics() const { return metrics_; }
  bool takes_programs() const { return !commands_.empty(); }
  bool asks_agreement() const { return asks_agreement_; }  // which takes two models: evaluate.h
  const Metric* beside_another() const;                    // a metric of two models; null: there is none
  const ClassNumbers& classes() const { return classes_; }
  Judged judged() const { return judged_; }
  TargetKind kind() const;

 private:
  class Run;
  void choose_metrics();

  const EvaluationOptions options_;
  const EvaluationData& data_;
  const std::string model_;
  std::optional<RowInputs> inputs_;
  std::optional<MaskedWords> masked_;  // of a model that names hidden words, on texts alone
  const ClassNumbers classes_;
  const bool scores_pairs_;  // it gives logits: of a pair too
  int64_t batch_ = 0;
  std::vector<Metric> metrics_;
  std::vector<std::string> commands_;
  bool asks_agreement_ = false;
  Judged judged_ = Judged::rows;
};

// Each token is right for the place before it; padding is not.
RightAnswers next_tokens(const TokenBatch& batch);

// The rows as samples of calibration, with what is right for them. Of several metrics, of a program's and of agreement,
// which nothing can be chosen by: Error. None where the data have no labels and no metric is named.
CalibrationData evaluation_samples(const Model& model, const EvaluationOptions& options);

}  // namespace hone
