#include "jobs/bench.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "jobs/load_model.h"
#include "jobs/open_session.h"
#include "jobs/probe.h"
#include "measure/break_even.h"
#include "measure/environment.h"
#include "measure/pair.h"
#include "measure/quality.h"
#include "measure/ratio.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

constexpr size_t kMostAcross = 6;  // models side by side fit a terminal
constexpr int kWarmProbes = 3;     // fresh processes per model; their median is shown

// A folder for the cold compile, removed afterwards.
struct TemporaryFolder {
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hone_bench_XXXXXX").string();
    if (!::mkdtemp(pattern.data())) fail("{}: can't make a temporary folder", pattern);
    path = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

struct Contender {
  std::string name, path, sha256;
  int64_t file_bytes = 0, weight_bytes = 0;
  std::unique_ptr<Session> session;
  Bindings bindings;
  NamedTensors inputs;
  std::vector<Tensor> outputs;
  std::optional<ProbeResult> cold, warm;
};

// A file has its inputs fixed; --inputs is for the folders among the models.
std::vector<std::string> chosen_inputs(const BenchOptions& options, const std::string& path) {
  return std::filesystem::is_directory(path) ? options.inputs : std::vector<std::string>{};
}

Contender open(const BenchOptions& options, const std::string& path) {
  LoadedModel model = load_model(path, chosen_inputs(options, path));
  Contender c;
  c.name = model.name, c.path = path, c.file_bytes = model.file_bytes, c.sha256 = model.sha256();
  c.weight_bytes = sizes(model.graph).weight_bytes;
  c.session = std::make_unique<Session>(open_session(std::move(model), options.session));
  const Graph& graph = c.session->graph();
  c.bindings = options.given.empty() ? bind_symbols(graph, options.shapes) : bind_inputs(graph, options.given);
  c.inputs = options.given.empty() ? default_inputs(graph, c.bindings, options.seed) : options.given;
  c.outputs = c.session->run(c.inputs);
  return c;
}

// Cold: an empty machine-code cache. Warm: the cache that the cold one left; the median of several.
void probe_processes(const BenchOptions& options, Contender& c) {
  const TemporaryFolder cache;
  ProbeOptions probe{.model = c.path,
                     .inputs = chosen_inputs(options, c.path),
                     .text = std::nullopt,
                     .shapes = {.dims = c.bindings},
                     .session = options.session};
  probe.session.cache_folder = cache.path;
  c.cold = probe_in_new_process(options.program, probe);
  std::vector<ProbeResult> warm;
  for (int i = 0; i < kWarmProbes; ++i) warm.push_back(probe_in_new_process(options.program, probe));
  std::sort(warm.begin(), warm.end(),
            [](const ProbeResult& a, const ProbeResult& b) { return a.first_result_ms < b.first_result_ms; });
  c.warm = warm[kWarmProbes / 2];
}

Cell optional_number(const std::optional<ProbeResult>& probe, double ProbeResult::*field) {
  return probe ? number((*probe).*field) : Cell();
}
Cell optional_bytes(const std::optional<ProbeResult>& probe, int64_t ProbeResult::*field) {
  return probe ? number(static_cast<double>((*probe).*field)) : Cell();
}

Interval in_ms(Interval ns) { return {ns.low * 1e-6, ns.high * 1e-6}; }

Table results_table(const BenchOptions& options, const std::vector<Contender>& contenders,
                    const std::vector<Timing>& timings) {
  const NumberStyle ms{NumberFormat::significant, 4}, bytes{NumberFormat::bytes, 3}, count{NumberFormat::integer, 0};
  Table table{.key = "results",
              .title = "One inference",
              .columns = {{"model", "model"},
                          {"batch", "batch", "", count},
                          {"threads", "threads", "", count},
                          {"compute", "compute"},
                          {"median_ms", "median", "ms", ms, "ci95_ms"},
                          {"p90_ms", "p90", "ms", ms},
                          {"per_second", "per second", "items", ms},
                          {"compile_cold_ms", "compile cold", "ms", ms},
                          {"compile_warm_ms", "from cache", "ms", ms},
                          {"prepack_ms", "lay out", "ms", ms},
                          {"first_result_ms", "process start to first result", "ms", ms},
                          {"file_bytes", "file", "", bytes},
                          {"weight_bytes", "weights", "", bytes},
                          {"resident_bytes", "resident", "", bytes},
                          {"peak_bytes", "peak", "", bytes}},
              .rows = {}};
  int64_t batch = options.shapes.batch;
  for (size_t i = 0; i < contenders.size(); ++i) {
    const Contender& c = contenders[i];
    const Timing& t = timings[i];
    if (!c.inputs.empty() && !c.inputs.begin()->second.shape().empty()) batch = c.inputs.begin()->second.shape()[0];
    table.rows.push_back(
        {c.name, number(static_cast<double>(batch)), number(options.session.threads),
         std::string(to_string(c.session->compute())), number(t.p50 * 1e-6, in_ms(t.median_ci95)), number(t.p90 * 1e-6),
         number(static_cast<double>(batch) * 1e9 / t.p50), optional_number(c.cold, &ProbeResult::compile_ms),
         optional_number(c.warm, &ProbeResult::compile_ms), optional_number(c.warm, &ProbeResult::prepack_ms),
         optional_number(c.warm, &ProbeResult::first_result_ms), number(static_cast<double>(c.file_bytes)),
         number(static_cast<double>(c.weight_bytes)), optional_bytes(c.warm, &ProbeResult::resident_bytes),
         optional_bytes(c.warm, &ProbeResult::peak_bytes)});
  }
  table.across = contenders.size() <= kMostAcross;
  for (const Timing& t : timings)
    if (!t.noise_target_met)
      table.note = "NOISE TARGET NOT MET: an interval is wider than 1 % of its median; the machine was not quiet.";
  return table;
}

// Process-level cost of the first and of further runs: what decides after how many runs one has paid for itself.
RunCost cost_of(const ProbeResult& p, const Timing& t) {
  return {
      .compile = p.compile_ms * 1e-3, .prepack = p.prepack_ms * 1e-3, .first = t.p50 * 1e-9, .steady = t.p50 * 1e-9};
}

Table comparison_table(const std::vector<Contender>& contenders, const std::vector<Timing>& timings,
                       std::vector<std::string>& findings) {
  const NumberStyle six{NumberFormat::fixed, 6}, three{NumberFormat::significant, 3};
  Table table{.key = "comparison",
              .title = fmt::format("Against {}", contenders[0].name),
              .columns = {{"model", "model"},
                          {"verdict", "speed"},
                          {"speed_ratio", "ratio", "", three, "speed_ratio_ci95"},
                          {"size_ratio", "file size ratio", "", three},
                          {"cosine", "cosine", "", six},
                          {"max_abs_error", "largest error", "", three},
                          {"break_even_runs", "pays after", "runs", {NumberFormat::integer, 0}}},
              .rows = {}};
  for (size_t i = 1; i < contenders.size(); ++i) {
    const Contender &base = contenders[0], &c = contenders[i];
    const Ratio ratio = speed_ratio(timings[0], timings[i]);
    Cell cosine, error;
    if (base.outputs[0].shape() == c.outputs[0].shape()) {
      const Quality q = compare(base.outputs[0].to_floats(), c.outputs[0].to_floats());
      cosine = number(q.cosine), error = number(q.max_abs_error);
    }
    Cell runs;
    if (base.cold && c.cold)
      if (const BreakEven even = break_even(cost_of(*base.cold, timings[0]), cost_of(*c.cold, timings[i])); even.runs)
        runs = number(static_cast<double>(*even.runs));
    table.rows.push_back({c.name, verdict(ratio), number(ratio.value, ratio.ci95),
                          number(static_cast<double>(c.file_bytes) / static_cast<double>(base.file_bytes)), cosine,
                          error, runs});
    findings.push_back(fmt::format("{} against {}: {}", c.name, base.name, verdict(ratio)));
  }
  return table;
}

void check_comparable(const std::vector<Contender>& contenders) {
  for (const Contender& c : contenders) {
    std::vector<std::string> first, own;
    for (const auto& [name, tensor] : contenders[0].inputs)
      first.push_back(fmt::format("{}: {}", name, to_string(tensor.type())));
    for (const auto& [name, tensor] : c.inputs) own.push_back(fmt::format("{}: {}", name, to_string(tensor.type())));
    if (first != own)
      fail("{} takes ({}), {} takes ({}): only models with the same inputs can be compared", contenders[0].path,
           fmt::join(first, ", "), c.path, fmt::join(own, ", "));
  }
}

}  // namespace

Record bench(const BenchOptions& options) {
  if (options.models.empty()) fail("no model to measure");
  std::vector<Contender> contenders;
  for (const std::string& path : options.models) contenders.push_back(open(options, path));
  check_comparable(contenders);
  if (!options.program.empty())
    for (Contender& c : contenders) {
      tell(options.progress, c.name + ": compile times and memory, in fresh processes");
      probe_processes(options, c);
    }

  std::vector<Candidate> candidates;
  for (Contender& c : contenders) candidates.push_back({c.name, [&c] { c.session->run(c.inputs); }});
  tell(options.progress, fmt::format("timing {} in turn, up to {:g} s",
                                     contenders.size() == 1 ? "the model" : "the models", options.seconds));
  const CpuTimes before = cpu_times();
  const std::vector<Timing> timings = interleave(candidates, {.max_seconds = options.seconds, .seed = options.seed});
  const Interference disturbance = interference(before, cpu_times());

  Record record{.title = "Benchmark",
                .command = options.command,
                .findings = {},
                .sections = {},
                .machine = describe(environment()),
                .manifest = {}};
  record.sections.push_back({"Results", {results_table(options, contenders, timings)}});
  if (contenders.size() > 1)
    record.sections[0].blocks.push_back(comparison_table(contenders, timings, record.findings));
  KeyValues conditions{
      .key = "conditions",
      .title = "",
      .items = {{"isa", "instruction set", std::string(to_string(contenders[0].session->isa()))},
                {"rounds", "interleaved rounds", number(timings[0].n()), "", {NumberFormat::integer, 0}},
                {"stolen", "CPU time taken by the host", number(disturbance.stolen), "", {NumberFormat::percent, 1}},
                {"others", "CPU time of other processes", number(disturbance.others), "", {NumberFormat::percent, 1}}}};
  for (const auto& [symbol, size] : contenders[0].bindings)
    conditions.items.push_back(
        {"dim_" + symbol, "dimension " + symbol, number(static_cast<double>(size)), "", {NumberFormat::integer, 0}});
  if (options.session.threads > 1)
    if (const auto pair = pair_check())
      conditions.items.push_back(
          {"pair", "two threads together against alone", number(pair->ratio()), "", {NumberFormat::fixed, 2}});
  record.sections.push_back({"Conditions", {conditions}});
  for (const Contender& c : contenders) record.manifest.push_back({"input", c.path, c.sha256, c.file_bytes});
  return record;
}

}  // namespace hone
