#include "views/lab_protocol.h"

#include <fmt/format.h>

#include "measure/claim.h"
#include "views/bench.h"

namespace hone {
namespace {

constexpr int64_t kTotals[] = {1, 10, 100, 1000, 10000};

// Repetitions of two models as placements of a comparison (measure/ratio.h).
Timing as_placements(const TimedModel& m) {
  const LabRuns& runs = *m.lab;
  Timing timing = summarise(m.name, runs.means_ns, 0.01);
  for (size_t i = 1; i <= runs.means_ns.size(); ++i) timing.placement_ends.push_back(i);
  return timing;
}

std::string explanation(const TimedModel& m) {
  const LabRuns& runs = *m.lab;
  const RunCost cost = typical(runs.set_ups);
  return fmt::format(
      "{}: the lab protocol reports {:.3g} ms per run, the fair one {:.3g} ms. Of the difference, {:.3g} ms are a "
      "fifth of what happens once: {:.3g} ms of compiling, {:.3g} ms of laying out weights, and a first run that takes "
      "{:.3g} ms.",
      m.name, median(runs.means_ns) * 1e-6, cost.steady * 1e3, cost.once() / kLabRuns * 1e3, cost.compile * 1e3,
      cost.prepack * 1e3, cost.first * 1e3);
}

// The verdict and what follows from it; nothing here is computed from other figures than the comparison's.
std::string words_of(const TimedModel& base, const TimedModel& m, const Ratio& lab) {
  const Comparison& comparison = *m.comparison;
  if (!comparison.may_claim) return fmt::format("{} against {}: {}.", m.name, base.name, comparison.verdict);
  std::string text = fmt::format("{} against {}, by the lab protocol: {}; by the fair one: {}.", m.name, base.name,
                                 verdict(lab), comparison.verdict);
  if (!comparison.ratio.difference_shown()) return text + " Where no difference is shown, nothing can pay.";
  if (!comparison.pays) return text + " It does not pay for being set up, however often it runs.";
  if (comparison.pays->runs == 1) return text + " It costs no more from the first run on.";
  text += fmt::format(" It has paid for being set up after {} runs", comparison.pays->runs);
  if (const auto& ci95 = comparison.pays->ci95) text += fmt::format(" ({:.0f}-{:.0f})", ci95->low, ci95->high);
  return text + fmt::format(", which take {:.3g} s.", comparison.pays->seconds);
}

}  // namespace

Section lab_section(const std::vector<TimedModel>& models) {
  const NumberStyle three{NumberFormat::significant, 3}, count{NumberFormat::integer, 0};
  Table table{.key = "lab",
              .title = "Lab protocol: n = 5, no warm-up, compilation included",
              .columns = {{"model", "model"},
                          {"lab_mean_ms", "mean of five", "ms", three},
                          {"median_ms", "fair median", "ms", three},
                          {"compile_ms", "compile, cold", "ms", three},
                          {"prepack_ms", "lay out", "ms", three},
                          {"first_ms", "first run", "ms", three}},
              .note = fmt::format("Medians of {} repetitions, the models in turn.", models[0].lab->means_ns.size()),
              .across = true};
  for (int64_t total : kTotals)
    table.columns.push_back({fmt::format("total_{}_s", total), fmt::format("total of {}", total), "s", three});
  table.columns.push_back({"break_even_runs", "pays after", "runs", count});
  table.columns.push_back({"break_even_s", "that is", "s", three});
  std::string words;
  for (const TimedModel& m : models) {
    const RunCost cost = typical(m.lab->set_ups);
    const Interval ci95 = median_interval(m.lab->means_ns);
    std::vector<Cell> row{m.name,
                          number(median(m.lab->means_ns) * 1e-6, {ci95.low * 1e-6, ci95.high * 1e-6}),
                          number(m.timing.p50 * 1e-6),
                          number(cost.compile * 1e3),
                          number(cost.prepack * 1e3),
                          number(cost.first * 1e3)};
    for (int64_t total : kTotals) row.push_back(number(cost.total(total)));
    const std::optional<BreakEven> pays = m.comparison ? m.comparison->pays : std::nullopt;
    row.push_back(runs_cell(pays));
    row.push_back(pays ? number(pays->seconds) : Cell());
    table.rows.push_back(std::move(row));
    words += (words.empty() ? "" : "\n\n") + explanation(m);
    if (m.comparison) words += " " + words_of(models[0], m, speed_ratio(as_placements(models[0]), as_placements(m)));
  }
  return {"Lab protocol", {table, Text{words}}};
}

}  // namespace hone
