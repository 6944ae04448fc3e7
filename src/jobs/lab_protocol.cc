#include "jobs/lab_protocol.h"

#include <cmath>

#include "base/clock.h"
#include "jobs/load_model.h"
#include "measure/claim.h"
#include "measure/turns.h"

namespace hone {
namespace {

constexpr int kRuns = 5, kRepetitions = 10;
constexpr int64_t kTotals[] = {1, 10, 100, 1000, 10000};

void run_once(const Candidate& c, double steady, const CandidateOptions& options, LabRuns& runs) {
  SessionOptions uncached = options.session;
  uncached.cache_folder.reset();
  uncached.model_code = false;  // it would not compile
  Graph graph = load_model(c.path, chosen_inputs(options, c.path)).graph;
  const int64_t start = steady_ns();
  Session session(std::move(graph), std::move(uncached));
  session.run(c.inputs);
  const int64_t first = steady_ns();
  for (int i = 1; i < kRuns; ++i) session.run(c.inputs);
  const int64_t end = steady_ns();
  const SessionStatistics& s = session.statistics();
  RunCost cost{.compile = (s.prepare_milliseconds + s.specialise_milliseconds + s.compile_milliseconds) * 1e-3,
               .prepack = s.prepack_milliseconds * 1e-3,
               .steady = steady};
  cost.first = static_cast<double>(first - start) * 1e-9 - cost.compile - cost.prepack;
  runs.set_ups.push_back(cost);
  runs.means_ns.push_back(static_cast<double>(end - start) / kRuns);
}

// Repetitions of two models as placements of a comparison (measure/ratio.h).
Timing as_placements(const Candidate& c, const LabRuns& runs) {
  Timing timing = summarise(c.name, runs.means_ns, 0.01);
  for (size_t i = 1; i <= runs.means_ns.size(); ++i) timing.placement_ends.push_back(i);
  return timing;
}

std::string explanation(const Candidate& c, const LabRuns& runs) {
  const RunCost cost = typical(runs.set_ups);
  return fmt::format(
      "{}: the lab protocol reports {:.3g} ms per run, the fair one {:.3g} ms. Of the difference, {:.3g} ms are a "
      "fifth of what happens once: {:.3g} ms of compiling, {:.3g} ms of laying out weights, and a first run that takes "
      "{:.3g} ms.",
      c.name, median(runs.means_ns) * 1e-6, cost.steady * 1e3, cost.once() / kRuns * 1e3, cost.compile * 1e3,
      cost.prepack * 1e3, cost.first * 1e3);
}

// The verdict and what follows from it; nothing here is computed from other figures than the comparison's.
std::string words_of(const Candidate& base, const Candidate& c, const Ratio& lab, const Comparison& comparison) {
  if (!comparison.may_claim) return fmt::format("{} against {}: {}.", c.name, base.name, comparison.verdict);
  std::string text = fmt::format("{} against {}, by the lab protocol: {}; by the fair one: {}.", c.name, base.name,
                                 verdict(lab), comparison.verdict);
  if (!comparison.ratio.difference_shown()) return text + " Where no difference is shown, nothing can pay.";
  if (!comparison.pays) return text + " It does not pay for being set up, however often it runs.";
  if (comparison.pays->runs == 1) return text + " It costs no more from the first run on.";
  text += fmt::format(" It has paid for being set up after {} runs", comparison.pays->runs);
  if (const auto& ci95 = comparison.pays->ci95) text += fmt::format(" ({:.0f}-{:.0f})", ci95->low, ci95->high);
  return text + fmt::format(", which take {:.3g} s.", comparison.pays->seconds);
}

}  // namespace

std::vector<LabRuns> run_lab_protocol(const std::vector<Candidate>& candidates, const std::vector<Timing>& timings,
                                      const CandidateOptions& options, double seconds) {
  std::vector<LabRuns> all(candidates.size());
  const auto steady = [&](size_t i) { return timings[i].p50 * 1e-9; };
  LabRuns uncounted;
  for (size_t i = 0; i < candidates.size(); ++i) run_once(candidates[i], steady(i), options, uncounted);
  Turns turns(candidates.size(), options.seed);
  const int64_t start = steady_ns();
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    if (repetition >= kFewestForInterval && static_cast<double>(steady_ns() - start) * 1e-9 >= seconds) break;
    for (size_t i : turns.next()) run_once(candidates[i], steady(i), options, all[i]);
  }
  return all;
}

Section lab_section(const std::vector<Candidate>& candidates, const std::vector<Timing>& timings,
                    const std::vector<LabRuns>& runs, const std::vector<Comparison>& comparisons) {
  const NumberStyle three{NumberFormat::significant, 3}, count{NumberFormat::integer, 0};
  Table table{.key = "lab",
              .title = "Lab protocol: n = 5, no warm-up, compilation included",
              .columns = {{"model", "model"},
                          {"lab_mean_ms", "mean of five", "ms", three},
                          {"median_ms", "fair median", "ms", three},
                          {"compile_ms", "compile, cold", "ms", three},
                          {"prepack_ms", "lay out", "ms", three},
                          {"first_ms", "first run", "ms", three}},
              .note = fmt::format("Medians of {} repetitions, the models in turn.", runs[0].means_ns.size()),
              .across = true};
  for (int64_t total : kTotals)
    table.columns.push_back({fmt::format("total_{}_s", total), fmt::format("total of {}", total), "s", three});
  table.columns.push_back({"break_even_runs", "pays after", "runs", count});
  table.columns.push_back({"break_even_s", "that is", "s", three});
  std::string words;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const RunCost cost = typical(runs[i].set_ups);
    const Interval ci95 = median_interval(runs[i].means_ns);
    std::vector<Cell> row{candidates[i].name,
                          number(median(runs[i].means_ns) * 1e-6, {ci95.low * 1e-6, ci95.high * 1e-6}),
                          number(timings[i].p50 * 1e-6),
                          number(cost.compile * 1e3),
                          number(cost.prepack * 1e3),
                          number(cost.first * 1e3)};
    for (int64_t total : kTotals) row.push_back(number(cost.total(total)));
    words += (words.empty() ? "" : "\n\n") + explanation(candidates[i], runs[i]);
    const std::optional<BreakEven> pays = i > 0 ? comparisons[i - 1].pays : std::nullopt;
    row.push_back(runs_cell(pays));
    row.push_back(pays ? number(pays->seconds) : Cell());
    table.rows.push_back(std::move(row));
    if (i > 0) {
      const Ratio lab = speed_ratio(as_placements(candidates[0], runs[0]), as_placements(candidates[i], runs[i]));
      words += " " + words_of(candidates[0], candidates[i], lab, comparisons[i - 1]);
    }
  }
  return {"Lab protocol", {table, Text{words}}};
}

}  // namespace hone
