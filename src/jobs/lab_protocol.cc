#include "jobs/lab_protocol.h"

#include "base/clock.h"
#include "jobs/load_model.h"
#include "measure/break_even.h"
#include "measure/ratio.h"

namespace hone {
namespace {

constexpr int kRuns = 5;
constexpr int64_t kTotals[] = {1, 10, 100, 1000, 10000};

struct LabResult {
  RunCost cost;     // steady: of the fair protocol
  double mean = 0;  // seconds: what the protocol reports
};

LabResult run_protocol(const Contender& c, const Timing& fair, const ContenderOptions& options) {
  SessionOptions uncached = options.session;
  uncached.cache_folder.reset();
  Graph graph = load_model(c.path, chosen_inputs(options, c.path)).graph;
  const int64_t start = steady_ns();
  Session session(std::move(graph), std::move(uncached));
  session.run(c.inputs);
  const int64_t first = steady_ns();
  for (int i = 1; i < kRuns; ++i) session.run(c.inputs);
  const int64_t end = steady_ns();
  const SessionStatistics& s = session.statistics();
  LabResult result;
  result.mean = static_cast<double>(end - start) * 1e-9 / kRuns;
  result.cost.compile = (s.prepare_milliseconds + s.specialise_milliseconds + s.compile_milliseconds) * 1e-3;
  result.cost.prepack = s.prepack_milliseconds * 1e-3;
  result.cost.first = static_cast<double>(first - start) * 1e-9 - result.cost.compile - result.cost.prepack;
  result.cost.steady = fair.p50 * 1e-9;
  return result;
}

std::string explanation(const Contender& c, const LabResult& r) {
  const double once = (r.cost.total(1) - r.cost.steady) / kRuns;
  return fmt::format(
      "{}: the lab protocol reports {:.3g} ms per run, the fair one {:.3g} ms. Of the difference, {:.3g} ms are a "
      "fifth "
      "of what happens once: {:.3g} ms of compiling, {:.3g} ms of laying out weights, and a first run that takes "
      "{:.3g} "
      "ms.",
      c.name, r.mean * 1e3, r.cost.steady * 1e3, once * 1e3, r.cost.compile * 1e3, r.cost.prepack * 1e3,
      r.cost.first * 1e3);
}

std::string comparison(const Contender& base, const LabResult& base_result, const Contender& c, const LabResult& r,
                       const Ratio& fair) {
  const double lab = base_result.mean / r.mean;
  const BreakEven even = break_even(base_result.cost, r.cost);
  std::string text = fmt::format("By the lab protocol {} is {:.2f}x {} than {}; by the fair one: {}. ", c.name,
                                 lab > 1 ? lab : 1 / lab, lab > 1 ? "faster" : "slower", base.name, verdict(fair));
  if (!even.runs) return text + "It does not pay for its compilation, however often it runs.";
  if (*even.runs == 1) return text + "It costs no more from the first run on.";
  return text + fmt::format(
                    "It has paid for its compilation after {} runs, which take {:.3g} s: with fewer the lab "
                    "protocol's order holds, with more the fair one's.",
                    *even.runs, *even.seconds());
}

}  // namespace

Section lab_section(const std::vector<Contender>& contenders, const std::vector<Timing>& timings,
                    const ContenderOptions& options) {
  const NumberStyle three{NumberFormat::significant, 3}, count{NumberFormat::integer, 0};
  Table table{.key = "lab",
              .title = "Lab protocol: n = 5, no warm-up, compilation included",
              .columns = {{"model", "model"},
                          {"lab_mean_ms", "mean of five", "ms", three},
                          {"median_ms", "fair median", "ms", three},
                          {"compile_ms", "compile, cold", "ms", three},
                          {"prepack_ms", "lay out", "ms", three},
                          {"first_ms", "first run", "ms", three}},
              .across = true};
  for (int64_t runs : kTotals)
    table.columns.push_back({fmt::format("total_{}_s", runs), fmt::format("total of {}", runs), "s", three});
  table.columns.push_back({"break_even_runs", "pays after", "runs", count});
  table.columns.push_back({"break_even_s", "that is", "s", three});
  std::string words;
  std::vector<LabResult> results;
  for (size_t i = 0; i < contenders.size(); ++i) {
    const LabResult r = results.emplace_back(run_protocol(contenders[i], timings[i], options));
    std::vector<Cell> row{contenders[i].name,           number(r.mean * 1e3),         number(r.cost.steady * 1e3),
                          number(r.cost.compile * 1e3), number(r.cost.prepack * 1e3), number(r.cost.first * 1e3)};
    for (int64_t runs : kTotals) row.push_back(number(r.cost.total(runs)));
    words += (words.empty() ? "" : "\n\n") + explanation(contenders[i], r);
    const BreakEven even = break_even(results[0].cost, r.cost);
    row.push_back(i > 0 && even.runs ? number(static_cast<double>(*even.runs)) : Cell());
    row.push_back(i > 0 && even.runs ? number(*even.seconds()) : Cell());
    table.rows.push_back(std::move(row));
    if (i > 0)
      words += " " + comparison(contenders[0], results[0], contenders[i], r, speed_ratio(timings[0], timings[i]));
  }
  return {"Lab protocol", {table, Text{words}}};
}

}  // namespace hone
