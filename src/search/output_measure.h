// How far the outputs of a changed model are from those of the original, over calibration data.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "measure/statistics.h"
#include "runtime/session.h"

namespace hone {

struct OutputDistance {
  double error = 0;                // mean over the outputs of sum (y - r)^2 / sum r^2; infinite where y is not finite
  Interval error_ci95;             // by Student's t over samples, or batches where outputs are not by sample
  std::optional<double> accuracy;  // with labels: share of rows whose largest score is at the label
};

class OutputMeasure {
 public:
  // Runs `reference` in f32 on every batch. `labels`, one a row in the order of the batches, belong to the first output
  // [rows, classes]. `options` are for the models that are compared.
  OutputMeasure(const Graph& reference, std::vector<NamedTensors> batches, std::vector<int64_t> labels,
                SessionOptions options);

  // Over the first `batches` of the data (0: all).
  OutputDistance operator()(Graph model, size_t batches = 0) const;
  size_t batches() const { return batches_.size(); }
  bool has_labels() const { return !labels_.empty(); }
  Interval accuracy_interval(double accuracy) const;  // Wilson's, over the labels
  OutputDistance of_reference() const;

 private:
  struct Score {
    size_t rows = 0;
    int64_t right = 0;
    std::optional<double> share() const {
      return rows > 0 ? std::optional(static_cast<double>(right) / static_cast<double>(rows)) : std::nullopt;
    }
  };
  void count(size_t batch, std::span<const float> scores, Score& score) const;
  size_t parts_of(size_t batch) const;

  std::vector<NamedTensors> batches_;
  std::vector<int64_t> labels_;
  SessionOptions options_;
  std::vector<std::vector<std::vector<float>>> reference_;  // by batch, by output
  std::vector<std::vector<int64_t>> widths_;                // of rows, likewise
  bool by_sample_ = true;                                   // the first axis of all outputs counts the samples
};

}  // namespace hone
