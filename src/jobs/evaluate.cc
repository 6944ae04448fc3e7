#include "jobs/evaluate.h"

#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>

#include "jobs/open_session.h"
#include "jobs/text_inputs.h"
#include "measure/environment.h"

namespace hone {
namespace {

constexpr int64_t kMostClassesOfATable = 20;
constexpr size_t kMostMistakes = 20;

struct Opened {
  std::string name, cut;  // cut: what is to be said of the texts' length
  std::unique_ptr<Evaluation> evaluation;
  std::unique_ptr<Session> session;
};

Opened open(const std::string& path, const EvaluationData& data, const QualityOptions& options,
            std::vector<ManifestEntry>& manifest) {
  const bool folder = std::filesystem::is_directory(path);
  LoadedModel model = load_model(path, folder ? options.inputs : std::vector<std::string>{});
  Opened opened{.name = model.name};
  manifest.push_back({"input", path, model.sha256(), model.file_bytes});
  if (options.evaluation.max_length > 0) cut_texts(model, options.evaluation.max_length);
  if (!data.dataset.texts.empty() || !data.dataset.words.empty()) opened.cut = cut_text(model);
  opened.evaluation = std::make_unique<Evaluation>(model, data, options.evaluation);
  opened.session = std::make_unique<Session>(open_session(std::move(model), options.session));
  return opened;
}

Agreement agreement_on_data(const Opened& first, const Opened& other, const QualityOptions& options) {
  AgreementMeter meter(first.session->output_names(), other.session->output_names(), options.agreement);
  for (int64_t b = 0; b < first.evaluation->batches(); ++b) {
    tell(options.progress,
         fmt::format("{}: agreement, batch {} of {}", other.name, b + 1, first.evaluation->batches()));
    const NamedTensors inputs = first.evaluation->inputs(b);
    meter.add(first.session->run(inputs), other.session->run(inputs));
  }
  return meter.finish();
}

NumberStyle style_of(const Figure& figure) {
  return figure.is_share() ? NumberStyle{NumberFormat::percent, 2} : NumberStyle{NumberFormat::significant, 4};
}

template <class T>
Cell cell_of(const T& value) {
  return value.ci95 ? number(value.value, *value.ci95) : number(value.value);
}

// "cmd:./score.sh" has no place in a key.
std::string key_of(const Figure& figure, size_t at) {
  if (!figure.metric) return fmt::format("cmd_{}", at);
  std::string key = figure.name;
  std::ranges::replace(key, '@', '_');
  return key;
}

Table evaluation_table(const QualityComparison& comparison) {
  const std::vector<Figure>& figures = comparison.models[0].evaluated.figures;
  const bool compared = comparison.models.size() > 1;
  Table table{.key = "evaluation", .title = "On " + comparison.data, .columns = {{"model", "model"}}};
  for (size_t f = 0; f < figures.size(); ++f) {
    const std::string key = key_of(figures[f], f);
    table.columns.push_back({key, figures[f].title, "", style_of(figures[f])});
    if (compared)
      table.columns.push_back({key + "_difference", figures[f].title + ", difference", "", style_of(figures[f])});
  }
  table.columns.push_back({"rows", "rows", "", {NumberFormat::integer, 0}});
  for (const ModelQuality& model : comparison.models) {
    std::vector<Cell>& row = table.rows.emplace_back();
    row.push_back(model.name);
    for (size_t f = 0; f < figures.size(); ++f) {
      row.push_back(cell_of(model.evaluated.figures[f].estimate));
      if (compared) row.push_back(model.differences.empty() ? Cell() : cell_of(model.differences[f]));
    }
    row.push_back(number(static_cast<double>(model.evaluated.samples)));
  }
  table.across = true;
  std::vector<std::string> docs;
  for (const Figure& f : figures) {
    const std::string doc =
        f.metric ? fmt::format("{}: {}.", f.metric->def->title, f.metric->def->doc)
                 : fmt::format("{}: what it printed; larger is taken to be better, and it has no interval.", f.title);
    if (std::ranges::find(docs, doc) == docs.end()) docs.push_back(doc);  // recall at 1 and at 10 have one
  }
  table.note = fmt::format(
      "{}\nIntervals: 95 %, Wilson's of shares that have one row a sample, of others the percentile bootstrap over "
      "samples "
      "({} resamples, seeded). Differences are to the first model on the same resamples.",
      fmt::join(docs, "\n"), kResamples);
  return table;
}

std::string class_name(const std::vector<std::string>& names, int64_t c) {
  return c < std::ssize(names) ? names[static_cast<size_t>(c)] : std::to_string(c);
}

Table confusion_table(const Confusion& confusion, const std::vector<std::string>& names, const std::string& model,
                      const std::string& key) {
  const NumberStyle count{NumberFormat::integer, 0};
  Table table{.key = key, .title = fmt::format("What {} takes for what", model)};
  if (confusion.classes() <= kMostClassesOfATable) {
    table.columns.push_back({"right", "right class"});
    for (int64_t c = 0; c < confusion.classes(); ++c)
      table.columns.push_back({fmt::format("as_{}", c), "as " + class_name(names, c), "", count});
    for (int64_t right = 0; right < confusion.classes(); ++right) {
      table.rows.push_back({class_name(names, right)});
      for (int64_t c = 0; c < confusion.classes(); ++c)
        table.rows.back().push_back(number(static_cast<double>(confusion.count(right, c))));
    }
  } else {
    const std::vector<Confusion::Pair> mistakes = confusion.mistakes();
    table.columns = {{"right", "right class"}, {"given", "given"}, {"rows", "rows", "", count}};
    for (size_t i = 0; i < std::min(kMostMistakes, mistakes.size()); ++i)
      table.rows.push_back({class_name(names, mistakes[i].right), class_name(names, mistakes[i].predicted),
                            number(static_cast<double>(mistakes[i].count))});
    table.note = fmt::format("The {} most frequent of {} kinds of mistakes, of {} classes.", table.rows.size(),
                             mistakes.size(), confusion.classes());
  }
  if (confusion.not_a_number() > 0)
    table.note += fmt::format("{}{} rows have a NaN among their scores, and are in no cell.",
                              table.note.empty() ? "" : "\n", confusion.not_a_number());
  return table;
}

}  // namespace

QualityComparison compare_quality(const std::vector<std::string>& models, const QualityOptions& options) {
  if (models.empty()) fail("no model to evaluate");
  const EvaluationData data = read_evaluation_data(options.evaluation.data);
  QualityComparison result{.data = data.title};
  std::optional<Opened> first;
  for (const std::string& path : models) {
    Opened opened = open(path, data, options, result.manifest);
    if (opened.evaluation->asks_agreement() && models.size() < 2)
      fail("metric agreement is between models: name the one to agree with first, as in hone evaluate original small");
    ModelQuality quality{.name = opened.name, .evaluated = opened.evaluation->run(*opened.session, options.progress)};
    if (!opened.cut.empty()) result.notes.push_back(fmt::format("{}: {}", opened.name, opened.cut));
    if (first) {
      for (size_t f = 0; f < quality.evaluated.figures.size(); ++f)
        quality.differences.push_back(difference_of(result.models[0].evaluated.figures[f], quality.evaluated.figures[f],
                                                    options.evaluation.data.seed));
      if (opened.evaluation->asks_agreement()) quality.agreement = agreement_on_data(*first, opened, options);
    } else {
      const ClassNumbers& classes = opened.evaluation->classes();
      result.class_names = classes.names;
      if (!classes.note.empty()) result.notes.push_back(classes.note);
    }
    result.models.push_back(std::move(quality));
    if (!first) first = std::move(opened);
  }
  result.manifest.push_back({"input", options.evaluation.data.path, data.sha256, data.bytes});
  return result;
}

std::vector<std::string> findings_of(const QualityComparison& comparison) {
  std::vector<std::string> findings;
  for (const ModelQuality& model : comparison.models) {
    std::vector<std::string> figures;
    for (size_t f = 0; f < model.evaluated.figures.size(); ++f) {
      figures.push_back(text_of(model.evaluated.figures[f]));
      if (!model.differences.empty())
        figures.back() += ", " + difference_text(model.evaluated.figures[f].metric, model.differences[f]);
    }
    if (!figures.empty())
      findings.push_back(fmt::format("{}: {}; on {}", model.name, fmt::join(figures, "; "), comparison.data));
    if (model.agreement)
      for (const std::string& line : findings_of(*model.agreement, comparison.data))
        findings.push_back(fmt::format("{} beside {}: {}", model.name, comparison.models[0].name, line));
  }
  findings.insert(findings.end(), comparison.notes.begin(), comparison.notes.end());
  return findings;
}

std::vector<Block> tables_of(const QualityComparison& comparison, const AgreementOptions& options) {
  std::vector<Block> blocks;
  if (!comparison.models[0].evaluated.figures.empty()) blocks.push_back(evaluation_table(comparison));
  for (size_t m = 0; m < comparison.models.size(); ++m) {
    const ModelQuality& model = comparison.models[m];
    const std::string suffix = m == 0 ? "" : fmt::format("_{}", m);
    if (model.evaluated.confusion)
      blocks.push_back(
          confusion_table(*model.evaluated.confusion, comparison.class_names, model.name, "confusion" + suffix));
    if (!model.agreement) continue;
    const std::string title = fmt::format("Answers of {} beside those of {}", model.name, comparison.models[0].name);
    for (Block& block : agreement_tables(*model.agreement, title, options)) {
      if (m > 1) std::get<Table>(block).key += suffix;
      blocks.push_back(std::move(block));
    }
  }
  return blocks;
}

void add_quality(Record& record, const QualityComparison& comparison) {
  for (std::string& line : findings_of(comparison)) record.findings.push_back(std::move(line));
  record.sections.push_back({"Answers", tables_of(comparison)});
  record.manifest.push_back(comparison.manifest.back());
}

Record evaluate(const EvaluateOptions& options) {
  const QualityComparison comparison = compare_quality(options.models, options.quality);
  Record record{.title = fmt::format("{} on {}", comparison.models[0].name, comparison.data),
                .command = options.command,
                .findings = findings_of(comparison),
                .sections = {{"Answers", tables_of(comparison, options.quality.agreement)}},
                .machine = describe(environment())};
  if (comparison.models.size() > 1)
    record.title = fmt::format("{} models on {}", comparison.models.size(), comparison.data);
  record.manifest = comparison.manifest;
  return record;
}

}  // namespace hone
