// A model beside itself in other number formats, over calibration data: what hone sweep and hone allocate share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/threads.h"
#include "codegen/compiled_packer.h"
#include "jobs/calibration_data.h"
#include "jobs/quantize_model.h"
#include "report/record.h"
#include "search/measurements.h"
#include "search/output_measure.h"

namespace hone {

class FormatStudy {
 public:
  // `memory`: the file in which measurements are remembered, "" for none. `settings`: what they depend on besides the
  // model, the data and the type that products read activations in.
  FormatStudy(const std::string& model, const std::vector<std::string>& inputs, const Calibration& calibration,
              const SessionOptions& session, const std::string& memory, const std::string& settings);

  const OutputMeasure& measure();  // the outputs to compare with are computed at the first call
  bool has_labels() const { return !data.labels.empty(); }

  // For tables and plots of distances: which data; accuracy where there are labels, otherwise the output SQNR; and the
  // columns `first`, average bits, bytes, output error and SQNR, with labels accuracy.
  std::string title() const;
  Axis quality() const;
  std::vector<Column> distance_columns(std::vector<Column> first) const;

  const Calibration& calibration;
  const SessionOptions& session;
  const LoadedModel model;
  const Graph graph;  // canonical
  const CalibrationData data;
  Measurements known;
  const CompiledPacker packer{{.threads = hardware_threads(), .cache_folder = default_cache_folder()}};

 private:
  std::optional<OutputMeasure> measure_;
};

// Distances as they are remembered.
std::vector<double> values_of(const OutputDistance& distance);
OutputDistance distance_of(std::span<const double> values);

double decibels(double error);
Cell decibel_cell(double error);

}  // namespace hone
