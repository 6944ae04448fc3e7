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

struct StudyOptions {
  std::string model;
  std::vector<std::string> inputs;
  Calibration data;         // what outputs are compared on; without a file, what methods learn from
  Calibration calibration;  // what methods learn from; without a file, what outputs are compared on
  QuantizeOptions quantize;
  SessionOptions session;
  std::string memory;         // file in which measurements are remembered; empty: none
  std::string settings = {};  // what they depend on besides all this
};

struct StudyData {
  CalibrationData measured;               // what outputs are compared on
  std::optional<CalibrationData> learnt;  // what methods learn from, where it is other data
  std::string title;                      // of what is measured
  Calibration calibration;                // what methods learn from beyond the study: all of it
  const CalibrationData& for_methods() const { return learnt ? *learnt : measured; }
};

class FormatStudy {
 public:
  explicit FormatStudy(const StudyOptions& options);

  const OutputMeasure& measure();  // the outputs to compare with are computed at the first call
  bool has_labels() const { return !data.measured.labels.empty(); }

  // For tables and plots of distances: accuracy where there are labels, otherwise the output SQNR; and the columns
  // `first`, average bits, bytes, output error and SQNR, with labels accuracy.
  Axis quality() const;
  std::vector<Column> distance_columns(std::vector<Column> first) const;

  const LoadedModel model;
  const Graph graph;             // canonical
  const SessionOptions session;  // of what is measured but times: with all threads
  // A method that learns from data is judged by other data: the batches of a file that is given for both are dealt out.
  const StudyData data;
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
