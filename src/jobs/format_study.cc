#include "jobs/format_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jobs/finite_weights.h"
#include "jobs/text_inputs.h"
#include "models/decoder.h"

namespace hone {

namespace {

SessionOptions with_all_threads(SessionOptions session) {
  session.threads = hardware_threads();
  return session;
}

void require_plain(const EvaluationOptions& judged, const std::string& file) {
  const DataOptions unset;
  bool plain = judged.data.split.empty() && judged.data.limit == 0;
  for (const OptionField<DataOptions>& field : DataOptions::fields())
    plain &= std::visit([&](auto member) { return judged.data.reading.*member == unset.*member; }, field.member);
  if (!plain) fail("{}: is read as it is; splits, limits and columns are of data sets such as CSV", file);
}

Metric only_metric(const EvaluationOptions& judged) {
  if (judged.metrics.size() > 1) fail("choices are judged by one metric; {} are given", judged.metrics.size());
  return parse_metric(judged.metrics[0]);
}

// Of texts for a decoder.
CalibrationData by_next_tokens(CalibrationData data) {
  data.judged = Judged::next_tokens;
  for (const NamedTensors& batch : data.batches)
    data.right.push_back(next_tokens({batch.at("input_ids"), batch.at("attention_mask")}));
  return data;
}

// An array file or a list of texts, with classes where it has them.
CalibrationData read_file(const Model& model, const Calibration& from, const EvaluationOptions& judged) {
  require_plain(judged, from.file);
  CalibrationData data = read_calibration(model, from.file, from.batch);
  data.output = judged.output;
  if (!judged.metrics.empty()) data.metric = only_metric(judged);
  else if (!data.right.empty()) data.metric = parse_metric("accuracy");
  if (!data.metric) return data;
  if (data.right.empty() && is_decoder(model.graph)) data = by_next_tokens(std::move(data));
  if (data.right.empty()) fail("{}: has no labels to judge by {}", from.file, data.metric->name());
  if (data.metric->fits(TargetKind::groups)) data.judged = Judged::groups;
  else if (!data.metric->fits(TargetKind::classes) &&
           !(data.judged == Judged::next_tokens && data.metric->fits(TargetKind::answers)))
    fail("{}: metric {} does not fit labels that are classes: {}", from.file, data.metric->name(),
         data.metric->def->doc);
  return data;
}

CalibrationData read(const Model& model, const Calibration& from, const EvaluationOptions& judged) {
  if (from.file.empty() || is_calibration_file(from.file)) return read_file(model, from, judged);
  EvaluationOptions options = judged;
  options.data.path = from.file, options.data.batch = from.batch;
  return evaluation_samples(model, options);
}

// In as many batches as there are hands, where the samples suffice.
CalibrationData read_for(const Model& model, Calibration from, const EvaluationOptions& judged, size_t hands) {
  CalibrationData all = read(model, from, judged);
  const auto enough = static_cast<int64_t>(hands);
  if (std::ssize(all.batches) >= enough * (is_of_pairs(all.judged) ? 2 : 1)) return all;
  from.batch = std::max<int64_t>(1, all.samples / enough);
  return read(model, from, judged);
}

constexpr size_t kLearnAndJudge[] = {0, 1, 2, 0}, kJudge[] = {0, 1};

// One file for what methods learn from, what selects and what judges.
StudyData shared_data(const Model& model, const Calibration& from, const EvaluationOptions& judged) {
  const CalibrationData all = read_for(model, from, judged, std::size(kLearnAndJudge));
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

StudyData study_rows(const Model& model, const StudyOptions& options) {
  const Calibration& data = options.data.file.empty() ? options.calibration : options.data;
  const Calibration& calibration = options.calibration.file.empty() ? data : options.calibration;
  const bool one_file = data.file == calibration.file;
  if (one_file && calibrates(options.quantize)) return shared_data(model, data, options.judged);
  const CalibrationData all = read_for(model, data, options.judged, std::size(kJudge));
  std::vector<CalibrationData> halves = deal(all, kJudge);
  StudyData study{.calibration = calibration};
  study.title = halves[1].samples == 0
                    ? fmt::format("On the only sample of {}, which choices were compared on too", data.file)
                    : fmt::format("On {} of the {} samples of {}, held out: choices were compared on the others",
                                  halves[1].samples, all.samples, data.file);
  study.selecting = std::move(halves[0]);
  if (halves[1].samples > 0) study.judging = std::move(halves[1]);
  if (!one_file) study.learnt = read_calibration(model, calibration.file, calibration.batch);
  return study;
}

Model cut(Model model, const StudyOptions& options) {
  if (options.judged.max_length > 0) cut_texts(model, options.judged.max_length);
  return model;
}

StudyData study_data(const Model& model, const StudyOptions& options) {
  StudyData study = study_rows(model, options);
  if (!study.selecting.batches.empty() && study.selecting.batches[0].contains("input_ids"))
    if (const std::string cut = cut_text(model); !cut.empty()) study.title += "; " + cut;
  return study;
}

// What figures are of, for the name that they are remembered under.
std::string judged_text(const CalibrationData& data) {
  if (!data.metric) return "-";
  return fmt::format("{}:{}:{}", data.metric->name(), static_cast<int>(data.judged), data.output);
}

}  // namespace

FormatStudy::FormatStudy(const Model& original, const StudyOptions& options)
    : model(cut(original, options)),
      graph(canonicalise(model.graph)),
      session(with_all_threads(options.session)),
      data(study_data(model, options)),
      known(options.memory,
            fmt::format("{} {} {} {}+{} {} {} {} {} {}{}{}", model.sha256(), judged_text(data.selecting),
                        data.selecting.sha256, data.selecting.samples, data.judging ? data.judging->samples : 0,
                        options.data.batch, data.for_methods().sha256, data.calibration.batch,
                        to_string(session.compute.value_or(Compute::f32)), options.settings,
                        model.max_length > 0 ? fmt::format("max-length {} ", model.max_length) : "",
                        options_toml(quantize_fields(), options.quantize))) {}

OutputMeasure FormatStudy::measure(const CalibrationData& on, bool differences) const {
  std::optional<OutputTask> task;
  if (on.metric)
    task = OutputTask{
        .metric = *on.metric,
        .judged = on.judged,
        .right = on.right,
        .differences = differences,
        .output = [name = model.name, &on](const std::vector<std::string>& names, const std::vector<Tensor>& outputs) {
          return choose_output(name, names, outputs, on.output, on.judged, on.right[0].kind);
        }};
  return OutputMeasure(graph, on.batches, std::move(task), session);
}

const OutputMeasure& FormatStudy::selection() {
  if (!selection_) selection_.emplace(measure(data.selecting, !data.judging));
  return *selection_;
}

const OutputMeasure& FormatStudy::judge() {
  if (!data.judging) return selection();
  if (!judge_) judge_.emplace(measure(*data.judging, true));
  return *judge_;
}

StudyFacts FormatStudy::facts() const {
  return {.scale = scale,
          .model = model.name,
          .file = facts_of(model),
          .data = data.title,
          .selecting_samples = data.selecting.samples,
          .held_out_samples = data.held_out().samples,
          .holds_out = data.judging.has_value()};
}

namespace {
constexpr double kAbsent = 0, kAlone = 1, kWithInterval = 2;
}

// A value that is no number is remembered as an infinite one.
DistanceValues values_of(const OutputDistance& d) {
  DistanceValues values{d.error, d.error_ci95.low, d.error_ci95.high, kAbsent, 0, 0, 0, kAbsent, 0, 0, 0};
  const auto put = [&](size_t at, const auto& figure) {
    if (!figure) return;
    values[at] = figure->ci95 ? kWithInterval : kAlone;
    values[at + 1] = std::isfinite(figure->value) ? figure->value : INFINITY;
    if (figure->ci95) values[at + 2] = figure->ci95->low, values[at + 3] = figure->ci95->high;
  };
  put(3, d.figure), put(7, d.difference);
  return values;
}

OutputDistance distance_of(const DistanceValues& values) {
  OutputDistance d{std::max(values[0], 0.0), {values[1], values[2]}, std::nullopt, std::nullopt};
  const auto get = [&](size_t at, auto& figure) {
    if (values[at] == kAbsent) return;
    figure.emplace();
    figure->value = std::isfinite(values[at + 1]) ? values[at + 1] : NAN;
    if (values[at] == kWithInterval) figure->ci95 = Interval{values[at + 2], values[at + 3]};
  };
  get(3, d.figure), get(7, d.difference);
  return d;
}

OutputDistance FormatStudy::distance(const OutputMeasure& measure, const Graph& changed) const {
  if (nonfinite_weights(changed, graph).empty()) return measure(changed);
  OutputDistance none{.error = INFINITY, .error_ci95 = {0, INFINITY}};
  if (scale.metric) none.figure = {.value = NAN};
  return none;
}

FormatStudy::Measured FormatStudy::measured(const std::string& key, const std::function<Changed()>& change) {
  constexpr size_t kOne = std::tuple_size_v<DistanceValues>;
  const auto values = known.get<2 * kOne + 2>(key, [&] {
    const Changed changed = change();
    std::array<double, 2 * kOne + 2> all;
    auto end = std::ranges::copy(values_of(distance(selection(), changed.graph)), all.begin()).out;
    end = std::ranges::copy(values_of(distance(judge(), changed.graph)), end).out;
    std::ranges::copy(changed.figures, end);
    return all;
  });
  DistanceValues selecting, held_out;
  std::copy_n(values.begin(), kOne, selecting.begin());
  std::copy_n(values.begin() + kOne, kOne, held_out.begin());
  return {distance_of(selecting), distance_of(held_out), {values[2 * kOne], values[2 * kOne + 1]}};
}

FormatStudy::Measured FormatStudy::measured_original() {
  const auto distance_by = [&](const char* name, const OutputMeasure& measure) {
    return distance_of(known.get<std::tuple_size_v<DistanceValues>>(name, [&] { return values_of(measure(graph)); }));
  };
  Measured original{.selecting = {}, .held_out = distance_by("the original, held out", judge()), .figures = {}};
  original.held_out.difference.reset();
  original.selecting = distance_by("the original, selecting", selection());
  return original;
}

}  // namespace hone
