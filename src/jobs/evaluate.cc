#include "jobs/evaluate.h"

#include <fmt/format.h>

#include "jobs/open_session.h"
#include "jobs/text_inputs.h"

namespace hone {
namespace {

constexpr OptionField<EvaluationFlags> kData[] = {required_flag(
    "data", "Data set to judge answers on: a file or folder", &EvaluationFlags::data, {.file = OptionFile::reads})};
constexpr OptionField<EvaluateOptions> kOwn[] = {
    flag("seed", "Random seed for drawn rows and for intervals", &EvaluateOptions::seed),
    flag("answers", "What agreement compares: classes, embeddings, boxes, or by-name (as the names of the outputs say)",
         &EvaluateOptions::answers),
    flag("least-score", "Agreement of boxes: least score of a box that counts", &EvaluateOptions::least_score,
         {.least = 0, .most = 1}),
    flag("least-iou", "Agreement of boxes: least overlap (IoU) of two that are the same", &EvaluateOptions::least_iou,
         {.least = 0, .most = 1}),
    flag("neighbours", "Agreement of embeddings: how many nearest neighbors to compare", &EvaluateOptions::neighbours,
         {.least = 1, .most = int64_t{1} << 20}),
    flag("window",
         "Of a language model: read texts whole, in windows of so many tokens, each with a cache; 0: cut them "
         "(--max-length)",
         &EvaluateOptions::window, {.least = 0, .most = int64_t{1} << 30}),
    flag("stride", "Tokens from one window to the next; 0: as many as a window has", &EvaluateOptions::stride,
         {.least = 0, .most = int64_t{1} << 30, .only_with = "window"})};

struct Opened {
  std::string name, cut;  // cut: what is to be said of the texts' length
  std::unique_ptr<Evaluation> evaluation;
  std::unique_ptr<Session> session;
  std::unique_ptr<LongTexts> texts;   // with windows, and
  std::unique_ptr<DecoderRuns> runs;  // in place of the session

  Compute compute() const { return (runs ? runs->session() : *session).compute(); }
  Evaluated evaluated(Opened& reference, const QualityOptions& options, const Progress& progress) {
    return runs ? texts->run(*runs, *reference.runs, options.evaluation.data.seed, progress)
                : evaluation->run(*session, progress, reference.session.get());
  }
};

Opened open(Model model, const EvaluationData& data, const QualityOptions& options) {
  Opened opened{.name = model.name};
  if (options.evaluation.max_length > 0) cut_texts(model, options.evaluation.max_length);
  if (!data.dataset.texts.empty() || !data.dataset.words.empty()) opened.cut = cut_text(model);
  opened.evaluation = std::make_unique<Evaluation>(model, data, options.evaluation);
  if (options.windows.given()) {
    if (options.evaluation.max_length > 0) fail("windows read texts whole; leave out max-length");
    opened.texts = std::make_unique<LongTexts>(model, data, *opened.evaluation, options.windows);
    opened.runs = open_runs(model, options.session);
    opened.cut = "";
    return opened;
  }
  opened.session = std::make_unique<Session>(open_session(std::move(model), options.session));
  return opened;
}

// What a figure of two models is to be read with.
std::string products_text(const Opened& opened) {
  return fmt::format("{}: products read activations as {}", opened.name, to_string(opened.compute()));
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
                        .session = session_options(),
                        .windows = {.window = window, .stride = stride}};
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
    const Metric* beside = opened.evaluation->beside_another();
    if (beside && models.size() < 2)
      fail("metric {} is between models: name the one to compare with first, as in hone evaluate original small",
           beside->name());
    ModelQuality quality{.name = opened.name,
                         .file = facts_of(model),
                         .evaluated = opened.evaluated(first ? *first : opened, options, progress)};
    if (beside) result.notes.push_back(products_text(opened));
    if (opened.texts) result.notes.push_back(opened.texts->note());
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
