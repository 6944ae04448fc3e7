#include "jobs/bench.h"

#include <filesystem>

#include "base/atomic_file.h"
#include "jobs/evaluate.h"
#include "jobs/lab_protocol.h"
#include "jobs/probe_rounds.h"
#include "jobs/scratch_folder.h"
#include "measure/cpu_contention.h"
#include "measure/environment.h"
#include "measure/ratio.h"

namespace hone {
namespace {

constexpr size_t kMostAcross = 6;  // models side by side fit a terminal

// Each in processes of its own, with the inputs that it is timed on.
std::vector<ProbeRounds> probe_processes(const BenchOptions& options, const std::vector<Candidate>& candidates) {
  const ScratchFolder folder;
  std::vector<ProbeOptions> probes;
  for (const Candidate& c : candidates) {
    ProbeOptions& probe = probes.emplace_back();
    probe.model = c.path;
    probe.inputs = chosen_inputs(options.open, c.path);
    probe.text = std::nullopt;
    probe.given = fmt::format("{}/{}.npz", folder.path(), probes.size());
    probe.session = options.open.session;
    save_inputs(probe.given, c.inputs);
  }
  return probe_in_turn(probes, {.program = options.program,
                                .seconds = options.seconds,
                                .seed = options.open.seed,
                                .progress = options.progress});
}

Interval in_ms(Interval ns) { return {ns.low * 1e-6, ns.high * 1e-6}; }

Table results_table(const BenchOptions& options, const std::vector<Candidate>& candidates,
                    const std::vector<ProbeRounds>& probes, const std::vector<Timing>& timings) {
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
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& c = candidates[i];
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
                          median_cell(cold, &ProbeResult::compile_ms),
                          median_cell(warm, &ProbeResult::compile_ms),
                          median_cell(warm, &ProbeResult::prepack_ms),
                          median_cell(warm, &ProbeResult::first_result_ms),
                          number(static_cast<double>(c.file_bytes)),
                          number(static_cast<double>(c.weight_bytes)),
                          number(static_cast<double>(c.session->statistics().arena_bytes)),
                          median_cell(warm, &ProbeResult::resident_bytes),
                          median_cell(warm, &ProbeResult::peak_bytes)});
  }
  table.across = candidates.size() <= kMostAcross;
  for (const Timing& t : timings)
    if (!t.noise_target_met)
      table.note = "NOISE TARGET NOT MET: an interval is wider than 1 % of its median; the machine was not quiet.";
  return table;
}

// What each process with an empty cache paid before its first answer, beside the steady run.
SetUps set_ups_of(const ProbeRounds& probes, const Timing& t) {
  SetUps set_ups;
  for (const ProbeResult& p : probes.cold)
    set_ups.push_back({.compile = (p.prepare_ms + p.compile_ms) * 1e-3,
                       .prepack = p.prepack_ms * 1e-3,
                       .first = t.p50 * 1e-9,
                       .steady = t.p50 * 1e-9});
  return set_ups;
}

// Of each but the first with the first.
std::vector<Comparison> comparisons_of(const std::vector<Candidate>& candidates, const std::vector<Timing>& timings,
                                       const std::vector<SetUps>& set_ups) {
  std::vector<Comparison> all;
  for (size_t i = 1; i < candidates.size(); ++i)
    all.push_back(compare(candidates[0], candidates[i], speed_ratio(timings[0], timings[i]), set_ups[0], set_ups[i]));
  return all;
}

Table comparison_table(const std::vector<Candidate>& candidates, const std::vector<Comparison>& comparisons) {
  const NumberStyle six{NumberFormat::fixed, 6}, three{NumberFormat::significant, 3};
  Table table{.key = "comparison",
              .title = fmt::format("Against {}", candidates[0].name),
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
  const Candidate& base = candidates[0];
  for (size_t i = 1; i < candidates.size(); ++i) {
    const Comparison& c = comparisons[i - 1];
    table.rows.push_back({candidates[i].name, c.verdict, number(c.ratio.value, c.ratio.ci95),
                          number(static_cast<double>(candidates[i].file_bytes) / static_cast<double>(base.file_bytes)),
                          number(c.quality.cosine), number(c.quality.max_abs_error), c.top1 ? number(*c.top1) : Cell(),
                          runs_cell(c.pays), c.pays ? number(c.pays->seconds) : Cell()});
  }
  table.across = candidates.size() <= kMostAcross;
  return table;
}

void refuse_model_as_samples(const std::string& samples, const std::vector<Candidate>& candidates) {
  for (const Candidate& c : candidates)
    for (const std::string& file : c.weight_files)
      if (std::error_code none; std::filesystem::equivalent(samples, file, none))
        fail("{}: is a model that is measured; choose another name for the samples", samples);
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
  std::vector<Candidate> candidates = open_candidates(options.models, options.open);
  refuse_model_as_samples(options.samples, candidates);
  std::vector<ProbeRounds> probes(candidates.size());
  if (!options.program.empty()) probes = probe_processes(options, candidates);

  tell(options.progress, fmt::format("timing {} in turn, up to {:g} s",
                                     candidates.size() == 1 ? "the model" : "the models", options.seconds));
  const CpuTimes before = cpu_times();
  const std::vector<Timing> timings = time_in_turn(candidates, options.open, options.seconds);
  const Interference disturbance = interference(before, cpu_times());
  if (!options.samples.empty()) write_file(options.samples, samples_csv(timings));

  const int threads = options.open.session.threads;
  Record record{.title = "Benchmark",
                .command = options.command,
                .findings = oversubscription(threads),
                .sections = {},
                .machine = describe(environment()),
                .manifest = manifest_of(candidates)};
  record.sections.push_back({"Results", {results_table(options, candidates, probes, timings)}});
  std::vector<SetUps> set_ups;
  for (size_t i = 0; i < candidates.size(); ++i) set_ups.push_back(set_ups_of(probes[i], timings[i]));
  std::vector<LabRuns> lab;
  if (options.lab) {
    tell(options.progress, "the coursework's protocol");
    lab = run_lab_protocol(candidates, timings, options.open, options.seconds);
    for (size_t i = 0; i < candidates.size(); ++i) set_ups[i] = lab[i].set_ups;  // one account of what is paid once
  }
  const std::vector<Comparison> comparisons = comparisons_of(candidates, timings, set_ups);
  for (size_t i = 1; i < candidates.size(); ++i)
    record.findings.push_back(
        fmt::format("{} against {}: {}", candidates[i].name, candidates[0].name, comparisons[i - 1].verdict));
  if (candidates.size() > 1) record.sections[0].blocks.push_back(comparison_table(candidates, comparisons));
  if (options.lab) record.sections.push_back(lab_section(candidates, timings, lab, comparisons));
  if (options.evaluation.given())
    add_quality(record, compare_quality(options.models, {.inputs = options.open.inputs,
                                                         .evaluation = options.evaluation,
                                                         .session = options.open.session,
                                                         .progress = options.progress}));
  add_notes(candidates, record.findings);
  KeyValues conditions = conditions_of(candidates[0], options.open.session);
  const NumberStyle count{NumberFormat::integer, 0}, percent{NumberFormat::percent, 1};
  conditions.items.push_back({"rounds", "interleaved rounds", number(timings[0].n()), "", count});
  conditions.items.push_back({"placements", "times set up anew", number(kPlacements), "", count});
  conditions.items.push_back({"stolen", "CPU time taken by the host", number(disturbance.stolen), "", percent});
  conditions.items.push_back({"others", "CPU time of other processes", number(disturbance.others), "", percent});
  if (threads > 1)
    if (const auto pair = cpu_contention())
      conditions.items.push_back(
          {"pair", "two threads together against alone", number(pair->ratio()), "", {NumberFormat::fixed, 2}});
  record.sections.push_back({"Conditions", {conditions}});
  return record;
}

}  // namespace hone
