#include "jobs/evaluate.h"

#include <fmt/format.h>

#include "jobs/open_session.h"
#include "jobs/text_inputs.h"

namespace hone {
namespace {

constexpr OptionField<EvaluationFlags> kData[] = {required_flag(
    "data", "Data set to judge answers on: a file or folder", &EvaluationFlags::data, {.file = OptionFile::reads})};
constexpr OptionField<EvaluateOptions> kOwn[] = {
    flag("seed", "Of drawn rows and of intervals", &EvaluateOptions::seed),
    flag("answers", "What agreement is of: classes, embeddings, boxes, or by-name: by the names of the outputs",
         &EvaluateOptions::answers),
    flag("least-score", "Agreement of boxes: those that count", &EvaluateOptions::least_score, {.least = 0, .most = 1}),
    flag("least-iou", "Agreement of boxes: overlap of those that are the same", &EvaluateOptions::least_iou,
         {.least = 0, .most = 1}),
    flag("neighbours", "Agreement of embeddings: how many are looked at", &EvaluateOptions::neighbours,
         {.least = 1, .most = int64_t{1} << 20})};

struct Opened {
  std::string name, cut;  // cut: what is to be said of the texts' length
  std::unique_ptr<Evaluation> evaluation;
  std::unique_ptr<Session> session;
};

Opened open(Model model, const EvaluationData& data, const QualityOptions& options) {
  Opened opened{.name = model.name};
  if (options.evaluation.max_length > 0) cut_texts(model, options.evaluation.max_length);
  if (!data.dataset.texts.empty() || !data.dataset.words.empty()) opened.cut = cut_text(model);
  opened.evaluation = std::make_unique<Evaluation>(model, data, options.evaluation);
  opened.session = std::make_unique<Session>(open_session(std::move(model), options.session));
  return opened;
}

Agreement agreement_on_data(const Opened& first, const Opened& other, const QualityOptions& options,
                            const TaskContext& context) {
  AgreementMeter meter(first.session->output_names(), other.session->output_names(), options.agreement);
  for (int64_t b = 0; b < first.evaluation->batches(); ++b) {
    context.tell(fmt::format("{}: agreement, batch {} of {}", other.name, b + 1, first.evaluation->batches()));
    const NamedTensors inputs = first.evaluation->inputs(b);
    meter.add(first.session->run(inputs), other.session->run(inputs));
  }
  return meter.finish();
}

}  // namespace

std::span<const OptionField<EvaluateOptions>> EvaluateOptions::own_fields() {
  static const auto all = joined_fields<EvaluateOptions>(kData, EvaluationFlags::fields(""), kOwn);
  return all;
}
std::span<const OptionField<EvaluateOptions>> EvaluateOptions::fields() {
  static const auto all = joined_fields<EvaluateOptions>(own_fields(), RunFlags::fields(), RunFlags::trust_fields(),
                                                         RunFlags::compute_fields());
  return all;
}

QualityOptions EvaluateOptions::quality() const {
  QualityOptions result{.evaluation = evaluation(),
                        .agreement = {.form = parse_answer_form(answers),
                                      .least_score = least_score,
                                      .least_iou = least_iou,
                                      .neighbours = neighbours,
                                      .seed = seed},
                        .session = session_options()};
  result.evaluation.data.seed = seed;
  return result;
}

QualityComparison compare_quality(std::span<const Model> models, const QualityOptions& options,
                                  const TaskContext& context) {
  if (models.empty()) fail("no model to evaluate");
  const EvaluationData data = read_evaluation_data(options.evaluation.data);
  QualityComparison result{.data = data.title, .data_file = {options.evaluation.data.path, data.sha256, data.bytes}};
  const Progress progress = [&](const std::string& next) { context.tell(next); };
  std::optional<Opened> first;
  for (const Model& model : models) {
    Opened opened = open(model, data, options);
    if (opened.evaluation->asks_agreement() && models.size() < 2)
      fail("metric agreement is between models: name the one to agree with first, as in hone evaluate original small");
    ModelQuality quality{
        .name = opened.name, .file = facts_of(model), .evaluated = opened.evaluation->run(*opened.session, progress)};
    if (!opened.cut.empty()) result.notes.push_back(fmt::format("{}: {}", opened.name, opened.cut));
    if (first) {
      for (size_t f = 0; f < quality.evaluated.figures.size(); ++f)
        quality.differences.push_back(difference_of(result.models[0].evaluated.figures[f], quality.evaluated.figures[f],
                                                    options.evaluation.data.seed));
      if (opened.evaluation->asks_agreement()) quality.agreement = agreement_on_data(*first, opened, options, context);
    } else {
      const ClassNumbers& classes = opened.evaluation->classes();
      result.class_names = classes.names;
      if (!classes.note.empty()) result.notes.push_back(classes.note);
    }
    result.models.push_back(std::move(quality));
    if (!first) first = std::move(opened);
  }
  result.environment = environment();
  return result;
}

QualityComparison evaluate(std::span<const Model> models, const EvaluateOptions& options, const TaskContext& context) {
  return compare_quality(models, options.quality(), context);
}

}  // namespace hone
