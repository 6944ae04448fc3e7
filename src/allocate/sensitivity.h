// How much each tensor in each format disturbs the outputs of a model.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allocate/candidates.h"
#include "allocate/measurements.h"
#include "allocate/output_measure.h"
#include "ir/statistics.h"

namespace hone {

struct TensorSensitivity {
  std::vector<double> layer_error;                  // by format: of the layer's output, relative (LayerError)
  std::vector<std::optional<double>> output_error;  // by format: measured with this tensor alone in that format
  size_t first = 0;                                 // the format that was measured first
  // From the first measurement: output error in proportion to the layer's.
  double estimate(size_t format) const;
  // Measured where that was done; otherwise in proportion to the measured format of the most similar layer error.
  double loss(size_t format) const;
};

struct SensitivityOptions {
  // false: each tensor is measured in one format only, the coarsest in which its layer loses little enough for losses
  // to be in proportion.
  bool measure_all = false;
  size_t batches = 0;  // of the data that substitutions are measured on; 0: all
  SessionOptions session;
  std::function<void(size_t done, size_t of)> told = {};
};

// In the order of candidates.tensors.
std::vector<TensorSensitivity> measure_sensitivity(const Candidates& candidates, const Statistics& statistics,
                                                   const OutputMeasure& measure, Measurements& known,
                                                   const SensitivityOptions& options);

// Measures each tensor in its format of a choice where that is not known; kPlain loses nothing. Whether any was not.
bool measure_chosen(std::span<const int> chosen, std::vector<TensorSensitivity>& sensitivities,
                    const Candidates& candidates, const OutputMeasure& measure, Measurements& known,
                    const SensitivityOptions& options);

// Rank correlations of estimates with everything that was measured, over all tensors and formats.
struct EstimateQuality {
  double layer_error = 0;  // of the layers' errors alone
  double estimate = 0;     // of estimates from each tensor's first measurement, of the other formats
  size_t pairs = 0;
};
EstimateQuality estimate_quality(const std::vector<TensorSensitivity>& sensitivities);

}  // namespace hone
