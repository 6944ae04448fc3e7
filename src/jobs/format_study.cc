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

// In as many batches as there are hands, where the samples suffice.
CalibrationData read_for(const LoadedModel& model, const Calibration& from, size_t hands) {
  CalibrationData all = read(model, from);
  const auto enough = static_cast<int64_t>(hands);
  if (std::ssize(all.batches) < enough)
    all = read_calibration(model, from.file, std::max<int64_t>(1, all.samples / enough));
  return all;
}

constexpr size_t kLearnAndJudge[] = {0, 1, 2, 0}, kJudge[] = {0, 1};

// One file for what methods learn from, what selects and what judges.
StudyData shared_data(const LoadedModel& model, const Calibration& from) {
  const CalibrationData all = read_for(model, from, std::size(kLearnAndJudge));
  std::vector<CalibrationData> parts = deal(all, kLearnAndJudge);
  StudyData study{.calibration = from};
  if (parts[1].samples == 0) {
    study.title = fmt::format("On the {} samples of {}, which the method learnt from too: too few to hold any out",
                              all.samples, from.file);
    study.selecting = std::move(parts[0]);
    return study;
  }
  if (parts[2].samples == 0)
    study.title = fmt::format(
        "On {} of the {} samples of {}, which choices were compared on too: too few to hold any out; the method learnt "
        "from the others",
        parts[1].samples, all.samples, from.file);
  else
    study.title = fmt::format(
        "On {} of the {} samples of {}, held out: the method learnt from {}, and choices were compared on {}",
        parts[2].samples, all.samples, from.file, parts[0].samples, parts[1].samples);
  study.learnt = std::move(parts[0]), study.selecting = std::move(parts[1]);
  if (parts[2].samples > 0) study.judging = std::move(parts[2]);
  return study;
}

StudyData study_data(const LoadedModel& model, const StudyOptions& options) {
  const Calibration& data = options.data.file.empty() ? options.calibration : options.data;
  const Calibration& calibration = options.calibration.file.empty() ? data : options.calibration;
  const bool one_file = data.file == calibration.file;
  if (one_file && calibrates(options.quantize)) return shared_data(model, data);
  const CalibrationData all = read_for(model, data, std::size(kJudge));
  std::vector<CalibrationData> halves = deal(all, kJudge);
  StudyData study{.calibration = calibration};
  study.title = halves[1].samples == 0
                    ? fmt::format("On the only sample of {}, which choices were compared on too", data.file)
                    : fmt::format("On {} of the {} samples of {}, held out: choices were compared on the others",
                                  halves[1].samples, all.samples, data.file);
  study.selecting = std::move(halves[0]);
  if (halves[1].samples > 0) study.judging = std::move(halves[1]);
  if (!one_file) study.learnt = read(model, calibration);
  return study;
}

Number with_interval(double value, Interval ci95) {
  if (!std::isfinite(ci95.low) || !std::isfinite(ci95.high)) return {value};
  return {value, ci95};
}

constexpr double kExact = 200;  // dB in plots, where nothing differs
double bounded_decibels(double error) { return error > 0 ? std::min(decibels(error), kExact) : kExact; }

}  // namespace

FormatStudy::FormatStudy(const StudyOptions& options)
    : model(load_model(options.model, options.inputs)),
      graph(canonicalise(model.graph)),
      session(with_all_threads(options.session)),
      data(study_data(model, options)),
      known(options.memory,
            fmt::format("{} {} {}+{} {} {} {} {} {}{}", model.sha256(), data.selecting.sha256, data.selecting.samples,
                        data.judging ? data.judging->samples : 0, options.data.batch, data.for_methods().sha256,
                        data.calibration.batch, to_string(session.compute.value_or(Compute::f32)), options.settings,
                        options_toml(quantize_fields(), options.quantize))) {}

const OutputMeasure& FormatStudy::selection() {
  if (!selection_) selection_.emplace(graph, data.selecting.batches, data.selecting.labels, session);
  return *selection_;
}

const OutputMeasure& FormatStudy::judge() {
  if (!data.judging) return selection();
  if (!judge_) judge_.emplace(graph, data.judging->batches, data.judging->labels, session);
  return *judge_;
}

Axis FormatStudy::quality() const {
  return has_labels() ? Axis{.title = "accuracy"} : Axis{.title = "output SQNR", .unit = "dB"};
}

double FormatStudy::quality(const OutputDistance& distance) const {
  return distance.accuracy ? *distance.accuracy : bounded_decibels(distance.error);
}

Point FormatStudy::point(const std::string& label, double x, const OutputDistance& d) {
  const Interval e = d.error_ci95;
  const Interval ci95 =
      d.accuracy ? judge().accuracy_interval(*d.accuracy) : Interval{bounded_decibels(e.high), bounded_decibels(e.low)};
  return {label, x, quality(d), d.accuracy || std::isfinite(e.high) ? std::optional(ci95) : std::nullopt};
}

std::vector<Column> FormatStudy::distance_columns(std::vector<Column> columns) const {
  columns.push_back({"average_bits", "average bits", "", {NumberFormat::fixed, 3}});
  columns.push_back({"bytes", "weights", "", {NumberFormat::bytes, 3}});
  columns.push_back({"output_error", "output error", "", {NumberFormat::significant, 3}});
  columns.push_back({"output_sqnr_db", "output SQNR", "dB", {NumberFormat::fixed, 2}});
  if (has_labels()) columns.push_back({"accuracy", "accuracy", "", {NumberFormat::percent, 2}});
  if (has_labels())
    columns.push_back({"selection_accuracy",
                       fmt::format("{}, where chosen", has_labels() ? "accuracy" : "error"),
                       "",
                       {NumberFormat::percent, 2}});
  else
    columns.push_back({"selection_error",
                       fmt::format("{}, where chosen", has_labels() ? "accuracy" : "error"),
                       "",
                       {NumberFormat::significant, 3}});
  return columns;
}

Cell FormatStudy::accuracy_cell(const OutputDistance& d) {
  return with_interval(*d.accuracy, judge().accuracy_interval(*d.accuracy));
}

std::vector<Cell> FormatStudy::distance_cells(const OutputDistance& held_out, const OutputDistance& selecting) {
  std::vector<Cell> cells;
  if (!std::isfinite(held_out.error)) cells = {Cell("not finite"), Cell()};
  else if (held_out.error == 0) cells = {number(0), Cell("exact")};
  else cells = {with_interval(held_out.error, held_out.error_ci95), number(decibels(held_out.error))};
  if (has_labels()) cells.push_back(accuracy_cell(held_out));
  if (has_labels()) cells.push_back(number(*selecting.accuracy));
  else cells.push_back(std::isfinite(selecting.error) ? number(selecting.error) : Cell("not finite"));
  return cells;
}

std::string FormatStudy::text_of(const OutputDistance& d) {
  std::string text = fmt::format("output error {:.3g}", d.error);
  if (std::isfinite(d.error_ci95.high) && d.error > 0)
    text += fmt::format(" ({:.3g}-{:.3g})", d.error_ci95.low, d.error_ci95.high);
  if (!d.accuracy) return text;
  const Interval ci95 = judge().accuracy_interval(*d.accuracy);
  return text + fmt::format(", accuracy {:.2f} % ({:.2f}-{:.2f})", 100 * *d.accuracy, 100 * ci95.low, 100 * ci95.high);
}

DistanceValues values_of(const OutputDistance& d) {
  return {d.error, d.error_ci95.low, d.error_ci95.high, d.accuracy.value_or(-1)};
}

OutputDistance distance_of(const DistanceValues& values) {
  return {std::max(values[0], 0.0),
          {values[1], values[2]},
          values[3] < 0 ? std::nullopt : std::optional(std::min(values[3], 1.0))};
}

double decibels(double error) { return -10 * std::log10(error); }

}  // namespace hone
