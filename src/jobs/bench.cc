#include "jobs/bench.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/atomic_file.h"
#include "jobs/lab_protocol.h"
#include "jobs/probe.h"
#include "jobs/scratch_folder.h"
#include "measure/break_even.h"
#include "measure/environment.h"
#include "measure/pair.h"
#include "measure/quality.h"
#include "measure/ratio.h"

namespace hone {
namespace {

constexpr size_t kMostAcross = 6;  // models side by side fit a terminal
constexpr int kWarmProbes = 3;     // fresh processes per model; their median is shown

// What only fresh processes show.
struct Probes {
  std::optional<ProbeResult> cold, warm;
};

// Cold: an empty machine-code cache. Warm: the cache that the cold one left; the median of several.
Probes probe_processes(const BenchOptions& options, const Contender& c) {
  const ScratchFolder cache;
  ProbeOptions probe{.model = c.path,
                     .inputs = chosen_inputs(options.open, c.path),
                     .text = std::nullopt,
                     .shapes = {.dims = c.bindings},
                     .session = options.open.session};
  probe.session.cache_folder = cache.path();
  Probes probes;
  probes.cold = probe_in_new_process(options.program, probe);
  std::vector<ProbeResult> warm;
  for (int i = 0; i < kWarmProbes; ++i) warm.push_back(probe_in_new_process(options.program, probe));
  std::sort(warm.begin(), warm.end(),
            [](const ProbeResult& a, const ProbeResult& b) { return a.first_result_ms < b.first_result_ms; });
  probes.warm = warm[kWarmProbes / 2];
  return probes;
}

Cell optional_number(const std::optional<ProbeResult>& probe, double ProbeResult::*field) {
  return probe ? number((*probe).*field) : Cell();
}
Cell optional_bytes(const std::optional<ProbeResult>& probe, int64_t ProbeResult::*field) {
  return probe ? number(static_cast<double>((*probe).*field)) : Cell();
}

Interval in_ms(Interval ns) { return {ns.low * 1e-6, ns.high * 1e-6}; }

Table results_table(const BenchOptions& options, const std::vector<Contender>& contenders,
                    const std::vector<Probes>& probes, const std::vector<Timing>& timings) {
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
  int64_t batch = options.open.shapes.batch;
  for (size_t i = 0; i < contenders.size(); ++i) {
    const Contender& c = contenders[i];
    const Timing& t = timings[i];
    if (!c.inputs.empty() && !c.inputs.begin()->second.shape().empty()) batch = c.inputs.begin()->second.shape()[0];
    const auto& [cold, warm] = probes[i];
    const auto in_ms_of = [](double ns) { return number(ns * 1e-6); };
    table.rows.push_back({c.name,
                          number(static_cast<double>(batch)),
                          number(options.open.session.threads),
                          std::string(to_string(c.session->compute())),
                          number(t.p50 * 1e-6, in_ms(t.median_ci95)),
                          in_ms_of(t.min),
                          in_ms_of(t.p90),
                          in_ms_of(t.p99),
                          in_ms_of(t.mean),
                          in_ms_of(t.mad),
                          number(static_cast<double>(batch) * 1e9 / t.p50),
                          optional_number(cold, &ProbeResult::compile_ms),
                          optional_number(warm, &ProbeResult::compile_ms),
                          optional_number(warm, &ProbeResult::prepack_ms),
                          optional_number(warm, &ProbeResult::first_result_ms),
                          number(static_cast<double>(c.file_bytes)),
                          number(static_cast<double>(c.weight_bytes)),
                          number(static_cast<double>(c.session->statistics().arena_bytes)),
                          optional_bytes(warm, &ProbeResult::resident_bytes),
                          optional_bytes(warm, &ProbeResult::peak_bytes)});
  }
  table.across = contenders.size() <= kMostAcross;
  for (const Timing& t : timings)
    if (!t.noise_target_met)
      table.note = "NOISE TARGET NOT MET: an interval is wider than 1 % of its median; the machine was not quiet.";
  return table;
}

// Process-level cost of the first and of further runs: what decides after how many runs one has paid for itself.
RunCost cost_of(const ProbeResult& p, const Timing& t) {
  return {.compile = (p.prepare_ms + p.compile_ms) * 1e-3,
          .prepack = p.prepack_ms * 1e-3,
          .first = t.p50 * 1e-9,
          .steady = t.p50 * 1e-9};
}

// A speed is said of models that compute the same: whose first output is that of the base.
std::string permitted_verdict(const Ratio& ratio, const Quality& quality) {
  if (quality.cosine >= kLeastCosine) return verdict(ratio);
  return fmt::format("no speed claimed: its output is another (cosine {:.3f}; at least {} is asked for)",
                     quality.cosine, kLeastCosine);
}

Table comparison_table(const std::vector<Contender>& contenders, const std::vector<Probes>& probes,
                       const std::vector<Timing>& timings, std::vector<std::string>& findings) {
  const NumberStyle six{NumberFormat::fixed, 6}, three{NumberFormat::significant, 3};
  Table table{.key = "comparison",
              .title = fmt::format("Against {}", contenders[0].name),
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
  const Contender& base = contenders[0];
  const std::vector<float> reference = base.outputs[0].to_floats();
  const int64_t width = base.outputs[0].shape().empty() ? 1 : base.outputs[0].shape().back();
  for (size_t i = 1; i < contenders.size(); ++i) {
    const Contender& c = contenders[i];
    const std::vector<float> result = c.outputs[0].to_floats();
    const Quality quality = compare(reference, result);
    const Ratio ratio = speed_ratio(timings[0], timings[i]);
    const std::string said = permitted_verdict(ratio, quality);
    Cell runs, seconds;
    if (probes[0].cold && probes[i].cold)
      if (const BreakEven even = break_even(cost_of(*probes[0].cold, timings[0]), cost_of(*probes[i].cold, timings[i]));
          even.runs)
        runs = number(static_cast<double>(*even.runs)), seconds = number(*even.seconds());
    table.rows.push_back({c.name, said, number(ratio.value, ratio.ci95),
                          number(static_cast<double>(c.file_bytes) / static_cast<double>(base.file_bytes)),
                          number(quality.cosine), number(quality.max_abs_error),
                          width > 1 ? number(top1_agreement(reference, result, width)) : Cell(), runs, seconds});
    findings.push_back(fmt::format("{} against {}: {}", c.name, base.name, said));
  }
  table.across = contenders.size() <= kMostAcross;
  return table;
}

// Ten medians give a 98 % interval from the second smallest to the second largest: one outlier does not decide.
constexpr int kPlacements = 10;
constexpr double kTarget = 0.01;  // half-width of the interval of a median

std::vector<Timing> time_in_turn(const BenchOptions& options, std::vector<Contender>& contenders) {
  std::vector<std::vector<Timing>> parts(contenders.size());
  Philox rng(options.open.seed);
  for (int placement = 0; placement < kPlacements; ++placement) {
    place_anew(contenders, options.open, rng);
    std::vector<Candidate> candidates;
    for (Contender& c : contenders) candidates.push_back({c.name, [&c] { c.session->run(c.inputs); }});
    std::vector<Timing> timings =
        interleave(candidates, {.target = kTarget * std::sqrt(kPlacements),
                                .min_rounds = kFewestForInterval,
                                .max_seconds = options.seconds / kPlacements,
                                .max_warmup_seconds = 1,
                                .seed = options.open.seed + static_cast<uint64_t>(placement)});
    for (size_t i = 0; i < timings.size(); ++i) parts[i].push_back(std::move(timings[i]));
  }
  std::vector<Timing> all;
  for (const std::vector<Timing>& of_one : parts) all.push_back(joined(of_one, kTarget));
  return all;
}

// A line per round, a column per model.
std::string samples_csv(const std::vector<Timing>& timings) {
  std::string csv = "placement";
  for (size_t i = 0; i < timings.size(); ++i) csv += fmt::format(",model{}_ns", i);
  csv += "\n";
  size_t round = 0;
  for (size_t placement = 0; placement < timings[0].placement_ends.size(); ++placement)
    for (; round < timings[0].placement_ends[placement]; ++round) {
      csv += std::to_string(placement);
      for (const Timing& t : timings) csv += fmt::format(",{:.0f}", t.samples_ns[round]);
      csv += "\n";
    }
  return csv;
}

}  // namespace

Record bench(const BenchOptions& options) {
  std::vector<Contender> contenders = open_contenders(options.models, options.open);
  std::vector<Probes> probes(contenders.size());
  if (!options.program.empty())
    for (size_t i = 0; i < contenders.size(); ++i) {
      tell(options.progress, contenders[i].name + ": compile times and memory, in fresh processes");
      probes[i] = probe_processes(options, contenders[i]);
    }

  tell(options.progress, fmt::format("timing {} in turn, up to {:g} s",
                                     contenders.size() == 1 ? "the model" : "the models", options.seconds));
  const CpuTimes before = cpu_times();
  const std::vector<Timing> timings = time_in_turn(options, contenders);
  const Interference disturbance = interference(before, cpu_times());
  if (!options.samples.empty()) write_file(options.samples, samples_csv(timings));

  const int threads = options.open.session.threads;
  Record record{.title = "Benchmark",
                .command = options.command,
                .findings = oversubscription(threads),
                .sections = {},
                .machine = describe(environment()),
                .manifest = manifest_of(contenders)};
  record.sections.push_back({"Results", {results_table(options, contenders, probes, timings)}});
  if (contenders.size() > 1)
    record.sections[0].blocks.push_back(comparison_table(contenders, probes, timings, record.findings));
  if (options.lab) {
    tell(options.progress, "the coursework's protocol");
    record.sections.push_back(lab_section(contenders, timings, options.open));
  }
  add_notes(contenders, record.findings);
  KeyValues conditions = conditions_of(contenders[0], options.open.session);
  const NumberStyle count{NumberFormat::integer, 0}, percent{NumberFormat::percent, 1};
  conditions.items.push_back({"rounds", "interleaved rounds", number(timings[0].n()), "", count});
  conditions.items.push_back({"placements", "times set up anew", number(kPlacements), "", count});
  conditions.items.push_back({"stolen", "CPU time taken by the host", number(disturbance.stolen), "", percent});
  conditions.items.push_back({"others", "CPU time of other processes", number(disturbance.others), "", percent});
  if (threads > 1)
    if (const auto pair = pair_check())
      conditions.items.push_back(
          {"pair", "two threads together against alone", number(pair->ratio()), "", {NumberFormat::fixed, 2}});
  record.sections.push_back({"Conditions", {conditions}});
  return record;
}

}  // namespace hone
