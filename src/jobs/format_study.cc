#include "jobs/format_study.h"

#include <fmt/format.h>

#include <cmath>

namespace hone {

FormatStudy::FormatStudy(const std::string& path, const std::vector<std::string>& inputs,
                         const Calibration& calibration, const SessionOptions& session, const std::string& memory,
                         const std::string& settings)
    : calibration(calibration),
      session(session),
      model(load_model(path, inputs)),
      graph(canonicalise(model.graph)),
      data(read_calibration(model, calibration.file, calibration.batch)),
      known(memory, fmt::format("{} {} {} {} {}", model.sha256(), data.sha256, calibration.batch,
                                to_string(session.compute.value_or(Compute::f32)), settings)) {}

const OutputMeasure& FormatStudy::measure() {
  if (!measure_) measure_.emplace(graph, data.batches, data.labels, session);
  return *measure_;
}

std::string FormatStudy::title() const {
  return fmt::format("On the {} samples of {}", data.samples, calibration.file);
}

std::vector<Column> FormatStudy::distance_columns(std::vector<Column> columns) const {
  columns.push_back({"average_bits", "average bits", "", {NumberFormat::fixed, 3}});
  columns.push_back({"bytes", "weights", "", {NumberFormat::bytes, 3}});
  columns.push_back({"output_error", "output error", "", {NumberFormat::significant, 3}});
  columns.push_back({"output_sqnr_db", "output SQNR", "dB", {NumberFormat::fixed, 2}});
  if (has_labels()) columns.push_back({"accuracy", "accuracy", "", {NumberFormat::percent, 2}});
  return columns;
}

Axis FormatStudy::quality() const {
  return has_labels() ? Axis{.title = "accuracy"} : Axis{.title = "output SQNR", .unit = "dB"};
}

std::vector<double> values_of(const OutputDistance& distance) {
  return {distance.error, distance.accuracy.value_or(-1)};
}

OutputDistance distance_of(std::span<const double> values) {
  return {values[0], values[1] < 0 ? std::nullopt : std::optional(values[1])};
}

double decibels(double error) { return -10 * std::log10(error); }
Cell decibel_cell(double error) { return error > 0 ? number(decibels(error)) : Cell("exact"); }

}  // namespace hone
