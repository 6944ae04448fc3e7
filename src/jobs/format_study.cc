#include "jobs/format_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hone {

namespace {

SessionOptions with_all_threads(SessionOptions session) {
  session.threads = hardware_threads();
  return session;
}

CalibrationData read(const LoadedModel& model, const Calibration& from) {
  return read_calibration(model, from.file, from.batch);
}

StudyData dealt(const LoadedModel& model, const Calibration& from) {
  CalibrationData all = read(model, from);
  if (all.batches.size() == 1) all = read_calibration(model, from.file, std::max<int64_t>(1, (all.samples + 1) / 2));
  if (all.batches.size() == 1) {
    std::string title =
        fmt::format("On the {} samples of {}, which the method learnt from too", all.samples, from.file);
    return {std::move(all), std::nullopt, std::move(title), from};
  }
  auto [learnt, measured] = alternating(all);
  std::string title = fmt::format("On {} of the {} samples of {}; the method learnt from the others", measured.samples,
                                  all.samples, from.file);
  return {std::move(measured), std::move(learnt), std::move(title), from};
}

StudyData study_data(const LoadedModel& model, const StudyOptions& options) {
  const Calibration& data = options.data.file.empty() ? options.calibration : options.data;
  const Calibration& calibration = options.calibration.file.empty() ? data : options.calibration;
  const bool one_file = data.file == calibration.file;
  if (one_file && calibrates(options.quantize)) return dealt(model, data);
  StudyData study{.measured = read(model, data), .calibration = calibration};
  study.title = fmt::format("On the {} samples of {}", study.measured.samples, data.file);
  if (!one_file) study.learnt = read(model, calibration);
  return study;
}

}  // namespace

FormatStudy::FormatStudy(const StudyOptions& options)
    : model(load_model(options.model, options.inputs)),
      graph(canonicalise(model.graph)),
      session(with_all_threads(options.session)),
      data(study_data(model, options)),
      known(options.memory, fmt::format("{} {} {} {} {} {} {} {}{}", model.sha256(), data.measured.sha256,
                                        data.measured.samples, options.data.batch, data.for_methods().sha256,
                                        data.calibration.batch, to_string(session.compute.value_or(Compute::f32)),
                                        options.settings, options_toml(quantize_fields(), options.quantize))) {}

const OutputMeasure& FormatStudy::measure() {
  if (!measure_) measure_.emplace(graph, data.measured.batches, data.measured.labels, session);
  return *measure_;
}

Axis FormatStudy::quality() const {
  return has_labels() ? Axis{.title = "accuracy"} : Axis{.title = "output SQNR", .unit = "dB"};
}

std::vector<Column> FormatStudy::distance_columns(std::vector<Column> columns) const {
  columns.push_back({"average_bits", "average bits", "", {NumberFormat::fixed, 3}});
  columns.push_back({"bytes", "weights", "", {NumberFormat::bytes, 3}});
  columns.push_back({"output_error", "output error", "", {NumberFormat::significant, 3}});
  columns.push_back({"output_sqnr_db", "output SQNR", "dB", {NumberFormat::fixed, 2}});
  if (has_labels()) columns.push_back({"accuracy", "accuracy", "", {NumberFormat::percent, 2}});
  return columns;
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
