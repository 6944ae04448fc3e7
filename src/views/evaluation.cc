#include "views/evaluation.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "views/agreement.h"
#include "views/conditions.h"

namespace hone {
namespace {

constexpr int64_t kMostClassesOfATable = 20;
constexpr size_t kMostMistakes = 20;

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

Evidence at_places(const Evidence& all, double first, double end) {
  Evidence chosen{.kind = all.kind, .samples = all.samples, .width = all.width};
  for (const Evidence::Row& row : all.rows)
    if (row.c >= first && row.c < end) chosen.rows.push_back(row);
  chosen.counted = std::ssize(chosen.rows);
  return chosen;
}

bool is_beside_another(const Figure& figure) { return figure.metric && figure.metric->fits(TargetKind::answers); }

// How far models are from the first one, by how many tokens stand before: 1, 2-3, 4-7, …
Table place_table(const QualityComparison& comparison) {
  Table table{.key = "by_place",
              .title = "By the number of tokens before",
              .columns = {{"before", "tokens before"}, {"tokens", "tokens", "", {NumberFormat::integer, 0}}},
              .note = "Intervals as above."};
  std::vector<const Figure*> figures;
  for (size_t m = 1; m < comparison.models.size(); ++m)
    for (const Figure& figure : comparison.models[m].evaluated.figures)
      if (is_beside_another(figure)) {
        const std::string suffix = m == 1 ? "" : fmt::format("_{}", m);
        table.columns.push_back({figure.name + suffix, fmt::format("{}, {}", figure.title, comparison.models[m].name),
                                 "", style_of(figure)});
        figures.push_back(&figure);
      }
  for (double first = 0; !figures.empty(); first = 2 * first + 1) {
    std::vector<Cell> row{fmt::format("{:.0f}{}", first + 1, first > 0 ? fmt::format("-{:.0f}", 2 * first + 1) : "")};
    for (const Figure* figure : figures) {
      const Evidence evidence = at_places(figure->evidence, first, 2 * first + 1);
      if (evidence.counted == 0) return table;
      if (row.size() == 1) row.push_back(number(static_cast<double>(evidence.counted)));
      row.push_back(cell_of(estimate(*figure->metric, evidence)));
    }
    table.rows.push_back(std::move(row));
  }
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

std::vector<Block> tables_of(const QualityComparison& comparison) {
  std::vector<Block> blocks;
  if (!comparison.models[0].evaluated.figures.empty()) blocks.push_back(evaluation_table(comparison));
  if (std::ranges::any_of(comparison.models[0].evaluated.figures, is_beside_another))
    blocks.push_back(place_table(comparison));
  for (size_t m = 0; m < comparison.models.size(); ++m) {
    const ModelQuality& model = comparison.models[m];
    const std::string suffix = m == 0 ? "" : fmt::format("_{}", m);
    if (model.evaluated.confusion)
      blocks.push_back(
          confusion_table(*model.evaluated.confusion, comparison.class_names, model.name, "confusion" + suffix));
    if (!model.agreement) continue;
    const std::string title = fmt::format("Answers of {} beside those of {}", model.name, comparison.models[0].name);
    for (Block& block : agreement_tables(*model.agreement, title)) {
      if (m > 1) std::get<Table>(block).key += suffix;
      blocks.push_back(std::move(block));
    }
  }
  return blocks;
}

void add_quality(Record& record, const QualityComparison& comparison) {
  for (std::string& line : findings_of(comparison)) record.findings.push_back(std::move(line));
  record.sections.push_back({"Answers", tables_of(comparison)});
  record.manifest.push_back(input_entry(comparison.data_file));
}

Record view_of(const QualityComparison& comparison) {
  Record record{.title = fmt::format("{} on {}", comparison.models[0].name, comparison.data),
                .findings = findings_of(comparison),
                .sections = {{"Answers", tables_of(comparison)}},
                .machine = describe(comparison.environment)};
  if (comparison.models.size() > 1)
    record.title = fmt::format("{} models on {}", comparison.models.size(), comparison.data);
  for (const ModelQuality& model : comparison.models) record.manifest.push_back(input_entry(model.file));
  record.manifest.push_back(input_entry(comparison.data_file));
  return record;
}

}  // namespace hone
