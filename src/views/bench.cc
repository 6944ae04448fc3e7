#include "views/bench.h"

#include <fmt/format.h>

#include <span>

#include "jobs/placements.h"
#include "views/conditions.h"
#include "views/evaluation.h"
#include "views/lab_protocol.h"
#include "views/probe_rounds.h"

namespace hone {
namespace {

constexpr size_t kMostAcross = 6;  // models side by side fit a terminal

Interval in_ms(Interval ns) { return {ns.low * 1e-6, ns.high * 1e-6}; }

Table results_table(const BenchResult& result) {
  const NumberStyle ms{NumberFormat::significant, 4}, bytes{NumberFormat::bytes, 3}, count{NumberFormat::integer, 0};
  Table table{.key = "results",
              .title = "One inference",
              .columns = {{"model", "model"},
                          {"batch", "batch", "", count},
                          {"threads", "threads", "", count},
                          {"compute", "compute"},
                          {"median_ms", "median", "ms", ms, "ci95_ms"},
                          {"min_ms", "least", "ms", ms},
                          {"p90_ms", "p90", "ms", ms},
                          {"p99_ms", "p99", "ms", ms},
                          {"mean_ms", "mean", "ms", ms},
                          {"mad_ms", "median deviation", "ms", ms},
                          {"per_second", "per second", "items", ms},
                          {"compile_cold_ms", "compile cold", "ms", ms},
                          {"compile_warm_ms", "from cache", "ms", ms},
                          {"prepack_ms", "lay out", "ms", ms},
                          {"first_result_ms", "process start to first result", "ms", ms},
                          {"file_bytes", "file", "", bytes},
                          {"weight_bytes", "weights", "", bytes},
                          {"arena_bytes", "arena", "", bytes},
                          {"resident_bytes", "resident", "", bytes},
                          {"peak_bytes", "peak", "", bytes}},
              .rows = {}};
  for (const TimedModel& m : result.models) {
    const Timing& t = m.timing;
    const auto& [cold, warm] = m.probes;
    const auto in_ms_of = [](double ns) { return number(ns * 1e-6); };
    table.rows.push_back({m.name,
                          number(static_cast<double>(m.batch)),
                          number(result.conditions.threads),
                          std::string(to_string(m.compute)),
                          number(t.p50 * 1e-6, in_ms(t.median_ci95)),
                          in_ms_of(t.min),
                          in_ms_of(t.p90),
                          in_ms_of(t.p99),
                          in_ms_of(t.mean),
                          in_ms_of(t.mad),
                          number(static_cast<double>(m.batch) * 1e9 / t.p50),
                          median_cell(cold, &ProbeResult::compile_ms),
                          median_cell(warm, &ProbeResult::compile_ms),
                          median_cell(warm, &ProbeResult::prepack_ms),
                          median_cell(warm, &ProbeResult::first_result_ms),
                          number(static_cast<double>(m.file.bytes)),
                          number(static_cast<double>(m.weight_bytes)),
                          number(static_cast<double>(m.arena_bytes)),
                          median_cell(warm, &ProbeResult::resident_bytes),
                          median_cell(warm, &ProbeResult::peak_bytes)});
  }
  table.across = result.models.size() <= kMostAcross;
  for (const TimedModel& m : result.models)
    if (!m.timing.noise_target_met)
      table.note = "NOISE TARGET NOT MET: an interval is wider than 1 % of its median; the machine was not quiet.";
  return table;
}

Table comparison_table(const std::vector<TimedModel>& models) {
  const NumberStyle six{NumberFormat::fixed, 6}, three{NumberFormat::significant, 3};
  Table table{.key = "comparison",
              .title = fmt::format("Against {}", models[0].name),
              .columns = {{"model", "model"},
                          {"verdict", "speed"},
                          {"speed_ratio", "ratio", "", three, "speed_ratio_ci95"},
                          {"size_ratio", "file size ratio", "", three},
                          {"cosine", "cosine", "", six},
                          {"max_abs_error", "largest error", "", three},
                          {"top1", "same largest", "", {NumberFormat::percent, 1}},
                          {"break_even_runs", "pays after", "runs", {NumberFormat::integer, 0}},
                          {"break_even_s", "that is", "s", three}},
              .rows = {}};
  for (const TimedModel& m : std::span(models).subspan(1)) {
    const Comparison& c = *m.comparison;
    table.rows.push_back({m.name, c.verdict, number(c.ratio.value, c.ratio.ci95),
                          number(static_cast<double>(m.file.bytes) / static_cast<double>(models[0].file.bytes)),
                          number(c.quality.cosine), number(c.quality.max_abs_error), c.top1 ? number(*c.top1) : Cell(),
                          runs_cell(c.pays), c.pays ? number(c.pays->seconds) : Cell()});
  }
  table.across = models.size() <= kMostAcross;
  return table;
}

KeyValues conditions_of_rounds(const BenchResult& result) {
  KeyValues block = conditions_block(result.conditions);
  const NumberStyle count{NumberFormat::integer, 0}, percent{NumberFormat::percent, 1};
  const auto& [stolen, others] = result.interference;
  block.items.push_back({"rounds", "interleaved rounds", number(result.models[0].timing.n()), "", count});
  block.items.push_back({"placements", "times set up anew", number(kPlacements), "", count});
  block.items.push_back({"stolen", "CPU time taken by the host", number(stolen), "", percent});
  block.items.push_back({"others", "CPU time of other processes", number(others), "", percent});
  if (result.pair)
    block.items.push_back(
        {"pair", "two threads together against alone", number(result.pair->ratio()), "", {NumberFormat::fixed, 2}});
  return block;
}

}  // namespace

Cell runs_cell(const std::optional<BreakEven>& pays) {
  if (!pays) return {};
  const auto runs = static_cast<double>(pays->runs);
  return pays->ci95 ? number(runs, *pays->ci95) : number(runs);
}

Record view_of(const BenchResult& result) {
  const std::vector<TimedModel>& models = result.models;
  Record record{.title = "Benchmark",
                .findings = oversubscription(result.conditions),
                .sections = {{"Results", {results_table(result)}}},
                .machine = describe(result.environment)};
  for (const TimedModel& m : models) {
    record.manifest.push_back(input_entry(m.file));
    if (m.comparison)
      record.findings.push_back(fmt::format("{} against {}: {}", m.name, models[0].name, m.comparison->verdict));
  }
  if (models.size() > 1) record.sections[0].blocks.push_back(comparison_table(models));
  if (models[0].lab) record.sections.push_back(lab_section(models));
  if (result.quality) add_quality(record, *result.quality);
  record.findings.insert(record.findings.end(), result.notes.begin(), result.notes.end());
  record.sections.push_back({"Conditions", {conditions_of_rounds(result)}});
  return record;
}

}  // namespace hone
