#include "ship/quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "allocate/output_measure.h"
#include "base/error.h"
#include "jobs/agreement.h"
#include "measure/claim.h"
#include "measure/quality.h"

namespace hone {
namespace {

constexpr double kTie = 1e-6;  // of the output error, which decides between figures that are equal

// The same outputs as the original but for a share of their squares; what is not finite is as wrong as can be.
double bounded(double error) { return std::isfinite(error) ? std::min(error, 1e30) : 1e30; }

EvaluationOptions with_metric(EvaluationOptions options, const EvaluationData& data) {
  if (options.metrics.size() > 1) fail("candidates are judged by one metric; {} are given", options.metrics.size());
  const bool labelled =
      !std::holds_alternative<std::monostate>(data.dataset.labels) || !data.dataset.second_texts.empty();
  if (options.metrics.empty() && !labelled) options.metrics = {"agreement"};
  return options;
}

class MetricMeter : public QualityMeter {
 public:
  MetricMeter(const Model& model, const Evaluation& evaluation, int64_t rows, const std::string& output,
              const SessionOptions& session)
      : metric_(evaluation.metrics()[0]) {
    std::vector<NamedTensors> batches;
    std::vector<RightAnswers> right;
    for (int64_t b = 0; b < evaluation.batches(); ++b) {
      batches.push_back(evaluation.inputs(b));
      right.push_back(evaluation.right(b));
      if (is_of_pairs(evaluation.judged())) batches.push_back(evaluation.inputs(b, true));
    }
    OutputTask task{.metric = metric_, .judged = evaluation.judged(), .right = std::move(right), .differences = true};
    task.output = [name = model.name, output, judged = evaluation.judged(), kind = evaluation.kind()](
                      const std::vector<std::string>& names, const std::vector<Tensor>& outputs) {
      return choose_output(name, names, outputs, output, judged, kind);
    };
    measure_.emplace(model.graph, std::move(batches), std::move(task), session);
    kind_ = {metric_.title(), metric_.def->is_share, metric_.def->larger_is_better};
    rows_ = rows;
  }

  AnswerQuality of(const Graph& changed) const override { return quality_of((*measure_)(changed)); }
  AnswerQuality of_original() const override { return quality_of(measure_->of_reference()); }

 private:
  AnswerQuality quality_of(const OutputDistance& d) const {
    const double value = d.figure->value;
    const double lost = std::isnan(value) ? 1e30 : kind_->larger_is_better ? -value : value;
    return {d.figure, d.difference, d.error, d.error_ci95, lost + kTie * std::min(bounded(d.error), 1.0)};
  }

  const Metric metric_;
  std::optional<OutputMeasure> measure_;
};

class ProgramMeter : public QualityMeter {
 public:
  ProgramMeter(const Model& model, EvaluationData data, const EvaluationOptions& options, const SessionOptions& session)
      : data_(std::move(data)), evaluation_(model, data_, options), session_(session) {
    kind_ = {"score of " + options.metrics[0].substr(std::string_view("cmd:").size()), false, true};
    rows_ = std::ssize(data_.rows);
    SessionOptions exact = session;
    exact.compute = Compute::f32;
    original_ = figure_of(model.graph, exact);
  }

  AnswerQuality of(const Graph& changed) const override { return quality_of(figure_of(changed, session_)); }
  AnswerQuality of_original() const override { return quality_of(original_); }

 private:
  Estimate figure_of(const Graph& graph, const SessionOptions& options) const {
    Session session(graph, options);
    return evaluation_.run(session).figures[0].estimate;
  }
  AnswerQuality quality_of(const Estimate& figure) const {
    return {.figure = figure,
            .difference = Difference{.value = figure.value - original_.value},
            .error = INFINITY,
            .loss = -figure.value};
  }

  const EvaluationData data_;
  const Evaluation evaluation_;
  const SessionOptions session_;
  Estimate original_;
};

// What users notice first, of what the outputs are.
struct Noticed {
  FigureKind kind;
  Estimate figure;
};
std::optional<Noticed> noticed(const Agreement& agreement) {
  const auto kind = [](const char* title, bool is_share) { return FigureKind{title, is_share, true, true}; };
  if (const auto& boxes = agreement.boxes) {
    const bool lost_more = boxes->recall.value <= boxes->precision.value;
    return Noticed{kind("boxes that both find", true), lost_more ? boxes->recall : boxes->precision};
  }
  for (const OutputAgreement& output : agreement.outputs) {
    if (output.same_class) return Noticed{kind("same class as the original", true), *output.same_class};
    if (output.shared_neighbours)
      return Noticed{{"nearest neighbors that both have", true, true, true, false}, *output.shared_neighbours};
  }
  return std::nullopt;
}

class AgreementQualityMeter : public QualityMeter {
 public:
  AgreementQualityMeter(const Model& model, std::vector<NamedTensors> batches, int64_t rows,
                        const SessionOptions& session)
      : batches_(std::move(batches)), session_(session) {
    SessionOptions exact = session;
    exact.compute = Compute::f32;
    Session original(model.graph, exact);
    names_ = original.output_names();
    for (const NamedTensors& batch : batches_) answers_.push_back(original.run(batch));
    rows_ = rows;
    AgreementMeter meter(names_, names_, {});
    for (const std::vector<Tensor>& answers : answers_) meter.add(answers, answers);
    if (const auto found = noticed(meter.finish())) kind_ = found->kind;
  }

  AnswerQuality of(const Graph& changed) const override {
    Session session(changed, session_);
    AgreementMeter meter(names_, names_, {});
    std::vector<std::vector<SquaredError>> errors(names_.size());
    for (size_t b = 0; b < batches_.size(); ++b) {
      const std::vector<Tensor> answers = session.run(batches_[b]);
      meter.add(answers_[b], answers);
      for (size_t o = 0; o < answers.size(); ++o) {
        const auto parts = squared_errors(answers_[b][o].to_floats(), answers[o].to_floats(), parts_of(b, o));
        errors[o].insert(errors[o].end(), parts.begin(), parts.end());
      }
    }
    const RelativeError error = relative_error(errors);
    const auto found = kind_ ? noticed(meter.finish()) : std::nullopt;
    return quality_of(found ? std::optional(found->figure) : std::nullopt, error);
  }

  AnswerQuality of_original() const override {
    AnswerQuality quality{.error_ci95 = Interval{0, 0}};
    if (!kind_) return quality;
    quality.figure = Estimate{.value = 1, .samples = rows_, .counted = rows_};
    quality.difference = Difference{.value = 0, .ci95 = Interval{0, 0}};
    return quality;
  }

 private:
  // Samples, where the first axis counts them.
  size_t parts_of(size_t batch, size_t output) const {
    const std::vector<int64_t>& shape = answers_[batch][output].shape();
    const Tensor& input = batches_[batch].begin()->second;
    return !shape.empty() && !input.shape().empty() && shape[0] == input.dim(0) && shape[0] > 0
               ? static_cast<size_t>(shape[0])
               : 1;
  }

  AnswerQuality quality_of(std::optional<Estimate> figure, const RelativeError& error) const {
    AnswerQuality quality{.figure = figure, .error = error.mean, .error_ci95 = error.ci95};
    quality.loss = std::isfinite(error.mean) || !figure ? bounded(error.mean) : 1 - figure->value;
    if (!figure) return quality;
    quality.difference = Difference{.value = figure->value - 1};
    if (figure->ci95) quality.difference->ci95 = Interval{figure->ci95->low - 1, std::min(figure->ci95->high - 1, 0.0)};
    return quality;
  }

  const std::vector<NamedTensors> batches_;
  const SessionOptions session_;
  std::vector<std::string> names_;
  std::vector<std::vector<Tensor>> answers_;
};

// Where a model runs on a fixed number of rows, those that fill no run are left out.
size_t whole_runs(const Model& model, const EvaluationData& data, EvaluationOptions options) {
  options.data.batch = 1;
  const size_t at_once = Evaluation(model, data, options).rows(0).size();
  return std::max(data.rows.size() / at_once, size_t{1}) * std::min(at_once, data.rows.size());
}

}  // namespace

std::unique_ptr<QualityMeter> quality_meter(const Model& original, EvaluationData data, const EvaluationOptions& given,
                                            const SessionOptions& session, const TaskContext& context) {
  context.tell(fmt::format("{}: running it on {}", original.name, data.title));
  const EvaluationOptions options = with_metric(given, data);
  data.rows.resize(whole_runs(original, data, options));
  const auto rows = std::ssize(data.rows);
  if (!options.metrics.empty() && options.metrics[0].starts_with("cmd:"))
    return std::make_unique<ProgramMeter>(original, std::move(data), options, session);
  const Evaluation evaluation(original, data, options);
  if (!evaluation.asks_agreement())
    return std::make_unique<MetricMeter>(original, evaluation, rows, options.output, session);
  std::vector<NamedTensors> batches;
  for (int64_t b = 0; b < evaluation.batches(); ++b) batches.push_back(evaluation.inputs(b));
  auto meter = std::make_unique<AgreementQualityMeter>(original, std::move(batches), rows, session);
  if (!given.metrics.empty() && !meter->kind())
    fail(
        "--metric agreement: the outputs of {} are neither classes, boxes nor embeddings whose agreement could be "
        "counted; leave --metric out, and candidates are compared by their output error",
        original.name);
  return meter;
}

bool reads_pairs_apart(const Model& model, const EvaluationData& data, const EvaluationOptions& options) {
  return is_of_pairs(Evaluation(model, data, with_metric(options, data)).judged());
}

std::string figure_text(const FigureKind& kind, const Estimate& estimate) {
  return figure_text(estimate.value, estimate.ci95, kind.is_share);
}

std::string difference_text(const FigureKind& kind, const Difference& difference) {
  return verdict(difference, {.is_share = kind.is_share, .larger_is_better = kind.larger_is_better});
}

std::string value_text(const FigureKind& kind, double value) {
  value += 0.0;  // no -0
  return kind.is_share ? fmt::format("{:.2f} points", 100 * value) : fmt::format("{:.3g}", value);
}

}  // namespace hone
