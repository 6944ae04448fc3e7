#include "views/prune_sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "measure/claim.h"
#include "measure/environment.h"
#include "views/conditions.h"
#include "views/quality.h"

namespace hone {
namespace {

class Viewer {
 public:
  explicit Viewer(const PruneSweep& sweep) : sweep_(sweep), scale_(sweep.study.scale) {}

  // A line for each method, and one for it with training afterwards.
  LinePlot curves() const {
    LinePlot plot{
        .key = "curves", .title = "Quality against sparsity", .x = {.title = "sparsity"}, .y = quality_axis(scale_)};
    for (const std::string& method : sweep_.methods)
      for (bool trained : {false, true}) {
        if (trained && !sweep_.trains) continue;
        Line line{.label = method + (trained ? ", trained" : ""), .points = {}};
        for (const SweptPruning& s : sweep_.prunings)
          if (s.method == method && s.trained == trained && std::isfinite(s.held_out.error))
            line.points.emplace_back(s.sparsity, scale_.quality(s.held_out));
        plot.lines.push_back(std::move(line));
      }
    return plot;
  }

  Table table() const {
    const NumberStyle count{NumberFormat::integer, 0}, bytes{NumberFormat::bytes, 3};
    Table table{.key = "sweep",
                .title = sweep_.study.data,
                .columns = {{"method", "method"},
                            {"sparsity", "sparsity", "", {NumberFormat::significant, 3}},
                            {"parameters", "weights", "", count},
                            {"compact", "bytes with bitmaps", "", bytes},
                            {"output_error", "output error", "", {NumberFormat::significant, 3}},
                            {"quality", quality_axis(scale_).title, "", {NumberFormat::significant, 4}}},
                .rows = {},
                .note =
                    "Output error: sum of squared differences to the original's outputs over the sum of their "
                    "squares. Kernels multiply by zeros, too; bitmaps are what it could be stored in."};
    if (sweep_.trains) {
      table.columns.back() = quality_column(scale_, "quality");
      table.columns.insert(table.columns.begin() + 2, {"how", "how"});
    }
    each([&](const SweptPruning& s) {
      std::vector<Cell> row{s.method, number(s.sparsity)};
      if (sweep_.trains) row.emplace_back(how(s));
      row.insert(row.end(), {number(static_cast<double>(s.parameters)), number(static_cast<double>(s.sparse_bytes)),
                             number(s.held_out.error), quality_of(s)});
      table.rows.push_back(std::move(row));
    });
    return table;
  }

  std::string csv() const {
    std::string text = fmt::format("method,sparsity,{}parameters,compact_bytes,output_error,{}\n",
                                   sweep_.trains ? "how," : "", scale_.key());
    each([&](const SweptPruning& s) {
      text += fmt::format("{},{},{}{},{},{},{}\n", s.method, s.sparsity, sweep_.trains ? std::string(how(s)) + "," : "",
                          s.parameters, s.sparse_bytes, s.held_out.error, scale_.quality(s.held_out));
    });
    return text;
  }

  // What training after pruning changed, and how much of it training alone gives.
  std::string what_training_did() const {
    Tally tally;
    for (size_t i = 0; i + 1 < sweep_.prunings.size(); i += 2)
      tally.add(scale_.shown(sweep_.prunings[i + 1].held_out, sweep_.prunings[i].held_out), scale_.larger_is_better());
    return fmt::format(
        "trained after pruning beside pruned alone, by what is held out, where intervals lie apart: {}; the original: "
        "{}; trained as long without pruning: {}",
        verdict(tally), text_of(scale_, sweep_.original->held_out), text_of(scale_, sweep_.original_trained->held_out));
  }

 private:
  const char* how(const SweptPruning& s) const {
    return s.trained ? "trained" : sweep_.original && s.method == sweep_.original->method ? "" : "pruned";
  }

  // With its interval where it is compared.
  Cell quality_of(const SweptPruning& s) const {
    return sweep_.trains ? quality_cell(scale_, s.held_out) : number(scale_.quality(s.held_out));
  }

  template <class F>
  void each(F&& add) const {
    for (const SweptPruning& s : sweep_.prunings) add(s);
    if (sweep_.original) add(*sweep_.original);
    if (sweep_.original_trained) add(*sweep_.original_trained);
  }

  const PruneSweep& sweep_;
  const QualityScale& scale_;
};

}  // namespace

Record view_of(const PruneSweep& sweep, const std::string& folder) {
  const Viewer viewer(sweep);
  Record record{.title = fmt::format("{} pruned by {}", sweep.study.model, fmt::join(sweep.methods, ", ")),
                .findings = {fmt::format("tables and plots in {}; nothing was trained after pruning", folder)},
                .sections = {{"Pruning", {viewer.curves(), viewer.table()}}},
                .machine = describe(environment()),
                .manifest = {input_entry(sweep.study.file)}};
  if (sweep.trains)
    record.findings = {viewer.what_training_did(), fmt::format("{} measured, {} remembered; tables and plots in {}",
                                                               sweep.measured, sweep.recalled, folder)};
  return record;
}

std::string csv(const PruneSweep& sweep) { return Viewer(sweep).csv(); }

}  // namespace hone
