// How much each tensor in each format disturbs the outputs of a model.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/statistics.h"
#include "search/candidates.h"
#include "search/measurements.h"
#include "search/output_measure.h"

namespace hone {

struct TensorSensitivity {
  std::vector<double> layer_error;                  // by format: of the layer's output, relative (LayerError)
  std::vector<std::optional<double>> output_error;  // by format: measured with this tensor alone in that format
  double gain = 0;                                  // output error per layer error, from what was measured
  // Measured where that was done; otherwise the layer's error times the gain.
  double loss(size_t format) const { return output_error[format] ? *output_error[format] : gain * layer_error[format]; }
};

struct SensitivityOptions {
  // false: each tensor is measured in one format only, that of the largest layer error, which gives its gain.
  bool measure_all = false;
  size_t batches = 0;  // of the data that substitutions are measured on; 0: all
  SessionOptions session;
  std::function<void(size_t done, size_t of)> told = {};
};

// In the order of candidates.tensors.
std::vector<TensorSensitivity> measure_sensitivity(const Candidates& candidates, const Statistics& statistics,
                                                   const OutputMeasure& measure, Measurements& known,
                                                   const SensitivityOptions& options);

// Rank correlations of estimates with everything that was measured, over all tensors and formats.
struct EstimateQuality {
  double layer_error = 0;  // of the layers' errors alone
  double with_gain = 0;    // of layer error times gain: only where a tensor was measured in more than one format
  size_t pairs = 0;
};
EstimateQuality estimate_quality(const std::vector<TensorSensitivity>& sensitivities);

}  // namespace hone
