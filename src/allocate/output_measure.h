// How far the outputs of a changed model are from those of the original, over calibration data.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/judge.h"
#include "measure/statistics.h"
#include "runtime/session.h"

namespace hone {

struct OutputDistance {
  double error = 0;                // mean over the outputs of sum (y - r)^2 / sum r^2; infinite where y is not finite
  Interval error_ci95;             // by Student's t over samples, or batches where outputs are not by sample
  std::optional<Estimate> figure;  // with a task: its metric
  std::optional<Difference> difference;  // of that to the reference's, where the task asks for it
};

// What the answers are worth besides: by a metric, of one output.
struct OutputTask {
  Metric metric;
  Judged judged = Judged::rows;     // of pairs: batches 2i and 2i + 1 are the first and the second sides
  std::vector<RightAnswers> right;  // of each batch, or of each two
  bool differences = false;         // to the reference, which take a bootstrap each
  std::function<size_t(const std::vector<std::string>& names, const std::vector<Tensor>& outputs)> output;
};

class OutputMeasure {
 public:
  // Runs `reference` in f32 on every batch. `options` are for the models that are compared. Throws Error where the task
  // does not fit the outputs.
  OutputMeasure(const Graph& reference, std::vector<NamedTensors> batches, std::optional<OutputTask> task,
                SessionOptions options);

  // Over the first `batches` of the data (0: all).
  OutputDistance operator()(Graph model, size_t batches = 0) const;
  size_t batches() const { return batches_.size(); }
  const std::optional<OutputTask>& task() const { return task_; }
  OutputDistance of_reference() const;

 private:
  // Values of the outputs of one batch, one after the other each.
  using Values = std::vector<std::vector<float>>;
  template <class ValuesOf>
  Evidence evidence_of(ValuesOf values_of) const;
  int64_t samples_of(size_t batch) const;
  size_t parts_of(size_t batch) const;

  std::vector<NamedTensors> batches_;
  std::optional<OutputTask> task_;
  size_t judged_output_ = 0;
  Evidence reference_evidence_;
  SessionOptions options_;
  std::vector<Values> reference_;             // by batch
  std::vector<std::vector<int64_t>> widths_;  // of rows, likewise
  bool by_sample_ = true;                     // the first axis of all outputs counts the samples
};

}  // namespace hone
