#include "views/format_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "formats/format.h"
#include "jobs/format_list.h"
#include "measure/claim.h"
#include "measure/environment.h"
#include "views/conditions.h"
#include "views/quality.h"

namespace hone {
namespace {

// Of a line: its formats, and whether the model was trained in them.
std::string family_of(const SweptFormat& s) { return format_family(s.format) + (s.trained ? ", trained" : ""); }

class Viewer {
 public:
  explicit Viewer(const FormatSweep& sweep) : sweep_(sweep), scale_(sweep.study.scale) {}

  LinePlot curves() const {
    std::map<std::string, Line> lines;
    for (const SweptFormat& s : sweep_.formats) {
      if (!s.is_finite()) continue;
      Line& line = lines[family_of(s)];
      line.label = family_of(s);
      line.points.emplace_back(s.average_bits, scale_.quality(s.held_out));
    }
    LinePlot plot{.key = "curves",
                  .title = "Quality against size, by family",
                  .x = {.title = "average bits"},
                  .y = quality_axis(scale_)};
    for (auto& [family, line] : lines) {
      std::ranges::sort(line.points);
      plot.lines.push_back(std::move(line));
    }
    return plot;
  }

  // Of each family and of all, by the number of formats measured: the best so far, where choices are compared. What is
  // held out takes no part, so that no line falls.
  LinePlot best_so_far() const {
    struct Best {
      Line line;
      const SweptFormat* swept = nullptr;
    };
    std::map<std::string, Best> families;
    Best all;
    const auto extend = [&](Best& best, const std::string& label, const SweptFormat& s) {
      best.line.label = label;
      if (!best.swept || is_better(scale_, s, *best.swept)) best.swept = &s;
      best.line.points.emplace_back(static_cast<double>(best.line.points.size() + 1),
                                    scale_.quality(best.swept->selecting));
    };
    for (const SweptFormat& s : sweep_.formats) {
      if (!s.is_finite() || std::isnan(scale_.quality(s.selecting))) continue;
      extend(families[family_of(s)], family_of(s), s);
      extend(all, "all", s);
    }
    LinePlot plot{.key = "best_so_far",
                  .title = "Best so far, where choices are compared",
                  .x = {.title = "formats measured"},
                  .y = quality_axis(scale_)};
    for (auto& [family, best] : families) plot.lines.push_back(std::move(best.line));
    if (plot.lines.size() > 1) plot.lines.push_back(std::move(all.line));
    return plot;
  }

  // Formats that differ in width and options only, of each width the one that is chosen where choices are compared: a
  // line after training, and one trained in the format.
  LinePlot width_curves() const {
    std::map<std::pair<std::string, bool>, Line> lines;
    for (const auto& [key, s] : of_widths()) {
      const auto& [kind, width, trained] = key;
      Line& line = lines[{kind, trained}];
      line.label = kind + (!sweep_.trains ? "" : trained ? ", QAT" : ", PTQ");
      line.points.emplace_back(width, scale_.quality(s->held_out));
    }
    LinePlot plot{.key = "width_curves",
                  .title = sweep_.trains ? "Quality against width: quantized after training (PTQ), and trained in the "
                                           "format (QAT)"
                                         : "Quality against width",
                  .x = {.title = "width", .unit = "bits"},
                  .y = quality_axis(scale_)};
    for (auto& [kind, line] : lines) plot.lines.push_back(std::move(line));
    if (std::ranges::all_of(plot.lines, [](const Line& line) { return line.points.size() < 2; })) plot.lines.clear();
    return plot;
  }

  Table widths() const {
    Table table{.key = "widths",
                .title = "By width: quantized after training (PTQ), and trained in the format (QAT)",
                .columns = {{"kind", "formats"},
                            {"width", "width", "bits", {NumberFormat::integer, 0}},
                            {"ptq_format", "PTQ in"},
                            quality_column(scale_, "ptq"),
                            {"qat_format", "QAT in"},
                            quality_column(scale_, "qat")},
                .note =
                    "Of several formats of one width the one that is chosen where choices are compared; on held-out "
                    "samples."};
    table.columns[3].title = "PTQ: " + table.columns[3].title;
    table.columns[5].title = "QAT: " + table.columns[5].title;
    for (const auto& [key, s] : of_widths()) {
      const auto& [kind, width, trained] = key;
      if (table.rows.empty() || std::get<std::string>(table.rows.back()[0]) != kind ||
          std::get<Number>(table.rows.back()[1]).value != width)
        table.rows.push_back({kind, number(width), Cell(), Cell(), Cell(), Cell()});
      const size_t at = trained ? 4 : 2;
      table.rows.back()[at] = s->format;
      table.rows.back()[at + 1] = quality_cell(scale_, s->held_out);
    }
    return table;
  }

  Table table() const {
    Table table{
        .key = "sweep",
        .title = sweep_.study.data,
        .columns = distance_columns(scale_, first_columns()),
        .note = fmt::format(
            "{} in that format. Output error: sum of squared differences to the original's "
            "outputs in f32 over the sum of their squares. Average bits count everything "
            "stored, with norms folded. Intervals: 95 %, Student's t over samples, of a share Wilson's, of other "
            "metrics the bootstrap.",
            sweep_.activations ? "Weights and inputs of products" : "Weights")};
    each([&](const SweptFormat& s, const std::string& family) {
      std::vector<Cell> row{s.format, family};
      if (sweep_.trains) row.emplace_back(how(s, family));
      row.push_back(number(s.average_bits));
      row.push_back(number(static_cast<double>(s.bytes)));
      table.rows.push_back(std::move(row));
      for (Cell& cell : distance_cells(s.held_out, s.selecting)) table.rows.back().push_back(std::move(cell));
    });
    return table;
  }

  std::string csv() const {
    std::string text = fmt::format(
        "format,family,{1}average_bits,bytes,output_error,output_error_low,output_error_high,{0},selection_error,"
        "selection_{0}\n",
        scale_.key(), sweep_.trains ? "how," : "");
    const auto figure = [](const std::optional<Estimate>& figure) {
      return figure ? fmt::format("{}", figure->value) : std::string();
    };
    each([&](const SweptFormat& s, const std::string& family) {
      text += fmt::format("{},{},{}{:.6f},{},{},{},{},{},{},{}\n", s.format, family,
                          sweep_.trains ? std::string(how(s, family)) + "," : "", s.average_bits, s.bytes,
                          s.held_out.error, s.held_out.error_ci95.low, s.held_out.error_ci95.high,
                          figure(s.held_out.figure), s.selecting.error, figure(s.selecting.figure));
    });
    return text;
  }

  std::string chosen() const {
    const SweptFormat& best = sweep_.formats[sweep_.best];
    const std::string name = best.format + (best.trained ? ", trained" : "");
    std::string text = fmt::format("Chosen: {}, {:.3f} bits; on {} samples held out: {}", name, best.average_bits,
                                   sweep_.study.held_out_samples, text_of(scale_, best.held_out));
    if (!sweep_.study.holds_out)
      text = fmt::format("Chosen: {}, {:.3f} bits, {}; chosen on the same {} samples, so this flatters", name,
                         best.average_bits, text_of(scale_, best.held_out), sweep_.study.selecting_samples);
    if (scale_.metric) text += fmt::format("; the original: {}", text_of(scale_, sweep_.original.held_out));
    return text;
  }

  // What training in each format changed beside quantizing, and how much of it training alone gives.
  std::string what_training_did() const {
    Tally tally;
    for (size_t i = 0; i + 1 < sweep_.formats.size(); i += 2)
      tally.add(scale_.shown(sweep_.formats[i + 1].held_out, sweep_.formats[i].held_out), scale_.larger_is_better());
    return fmt::format(
        "trained in the format beside quantized after training, by what is held out, where intervals lie apart: {}; "
        "trained as long without rounding, the original: {}",
        verdict(tally), text_of(scale_, sweep_.original_trained->held_out));
  }

 private:
  static const char* how(const SweptFormat& s, const std::string& family) {
    return s.trained ? "trained" : family.empty() ? "" : "quantized";
  }

  std::vector<Column> first_columns() const {
    std::vector<Column> columns{{"format", "format"}, {"family", "family"}};
    if (sweep_.trains) columns.push_back({"how", "how"});
    return columns;
  }

  // Every row: formats, and the original, whose family is empty.
  template <class F>
  void each(F&& add) const {
    for (const SweptFormat& s : sweep_.formats) add(s, format_family(s.format));
    add(sweep_.original, "");
    if (sweep_.original_trained) add(*sweep_.original_trained, "");
  }

  // By what a format is without its width and options, its width, and whether the model was trained in it.
  std::map<std::tuple<std::string, int, bool>, const SweptFormat*> of_widths() const {
    std::map<std::tuple<std::string, int, bool>, const SweptFormat*> found;
    for (const SweptFormat& s : sweep_.formats) {
      if (!s.is_finite() || std::isnan(scale_.quality(s.held_out))) continue;
      const std::string family = format_family(s.format);
      const SweptFormat*& chosen =
          found[{family.substr(0, family.find('.')), parse_format(s.format).element.bits, s.trained}];
      if (!chosen || is_better(scale_, s, *chosen)) chosen = &s;
    }
    return found;
  }

  const FormatSweep& sweep_;
  const QualityScale& scale_;
};

}  // namespace

Record view_of(const FormatSweep& sweep, const std::string& folder) {
  const Viewer viewer(sweep);
  Record record{.title = fmt::format("{} in {} formats", sweep.study.model, sweep.format_count()),
                .findings = {viewer.chosen(), fmt::format("{} measured, {} remembered; tables and plots in {}",
                                                          sweep.measured, sweep.recalled, folder)},
                .sections = {{"Formats", {viewer.curves(), viewer.best_so_far()}}},
                .machine = describe(environment()),
                .manifest = {input_entry(sweep.study.file)}};
  std::vector<Block>& blocks = record.sections[0].blocks;
  if (LinePlot plot = viewer.width_curves(); !plot.lines.empty()) blocks.insert(blocks.begin(), std::move(plot));
  if (sweep.trains) blocks.push_back(viewer.widths());
  blocks.push_back(viewer.table());
  if (sweep.trains) record.findings.insert(record.findings.begin() + 1, viewer.what_training_did());
  return record;
}

std::string csv(const FormatSweep& sweep) { return Viewer(sweep).csv(); }

}  // namespace hone
