#include "examples/demo/compare_formats.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include "base/hash.h"
#include "examples/demo/neighbours.h"
#include "jobs/probe_rounds.h"
#include "jobs/quantize_model.h"
#include "jobs/save_model.h"
#include "jobs/sentences.h"
#include "measure/claim.h"
#include "measure/environment.h"
#include "measure/quality.h"
#include "measure/turns.h"
#include "report/graph_drawing.h"
#include "views/probe_rounds.h"

namespace hone {
namespace {

constexpr size_t kMostAcross = 6;        // formats side by side fit a terminal
constexpr size_t kLatencyTexts = 8;      // one by one in a latency sample: lengths as they come
constexpr size_t kThroughputTexts = 64;  // in batches of 32 in a throughput sample

struct Candidate {
  FormatRun run;
  std::string file;
  int64_t file_bytes = 0, weight_bytes = 0;
  QuantizedModel quantized;  // tensors is empty for f32
  std::unique_ptr<SentenceEncoder> encoder;
  Tensor index, queries;
  NeighbourResult result;
  ProbeRounds probes;
};

SessionOptions session_for(const CompareFormatsOptions& options, const FormatRun& run) {
  SessionOptions session = options.session;
  session.compute = run.compute;
  return session;
}

void open_encoder(const CompareFormatsOptions& options, Candidate& c) {
  c.encoder = std::make_unique<SentenceEncoder>(load_model(c.file), session_for(options, c.run));
}

Candidate write_and_open(const CompareFormatsOptions& options, const Model& model, const FormatRun& run) {
  Candidate c;
  c.run = run;
  c.file = fmt::format("{}/{}.{}.safetensors", options.folder, model.name, run.format);
  if (run.format == "f32") {
    c.quantized.graph = canonicalise(model.graph);
    c.quantized.graph.metadata["compute"] = to_string(run.compute);
  } else {
    QuantizeOptions quantize;
    Calibration calibration;
    if (run.config.empty()) quantize.to = run.format;
    else read_quantize_config(run.config, quantize, calibration);
    if (!options.calibration.file.empty()) calibration = options.calibration;
    c.quantized = quantize_model(model, quantize, run.compute, calibration);
  }
  c.file_bytes = save_model(c.file, c.quantized.graph, model).bytes;
  c.weight_bytes = sizes(c.quantized.graph).weight_bytes;
  open_encoder(options, c);
  return c;
}

constexpr int kProbeRounds = 3;

void probe_processes(const CompareFormatsOptions& options, std::vector<Candidate>& candidates) {
  std::vector<ProbeOptions> probes;
  for (const Candidate& c : candidates)
    probes.push_back({.model = c.file,
                      .inputs = {},
                      .text = options.task.queries.texts[0],
                      .given = {},
                      .shapes = ShapeOptions(),
                      .session = session_for(options, c.run)});
  const TaskContext context{.progress = options.progress, .new_process = [&](const ProbeOptions& probe) {
                              return probe_in_new_process(options.program, probe);
                            }};
  std::vector<ProbeRounds> rounds =
      probe_in_turn(probes, {.rounds = kProbeRounds, .seconds = options.seconds}, context);
  for (size_t i = 0; i < candidates.size(); ++i) candidates[i].probes = std::move(rounds[i]);
}

// Each set up kPlacements times in turn, as for hone bench (docs/decisions/a-claim-of-speed.md).
std::vector<Timing> time_all(const CompareFormatsOptions& options, std::vector<Candidate>& candidates, size_t texts,
                             int64_t batch) {
  const std::vector<std::string>& all = options.task.queries.texts;
  const std::vector<std::string> sample(all.begin(), all.begin() + static_cast<ptrdiff_t>(std::min(texts, all.size())));
  constexpr double kTarget = 0.01;
  std::vector<std::vector<Timing>> parts(candidates.size());
  Turns turns(candidates.size(), 1);
  for (int placement = 0; placement < kPlacements; ++placement) {
    for (Candidate& c : candidates) c.encoder.reset();
    for (size_t i : turns.next()) open_encoder(options, candidates[i]);
    std::vector<TimedCall> calls;
    for (Candidate& c : candidates)
      calls.push_back({c.run.format, [&c, &sample, batch] { c.encoder->embed(sample, batch); }});
    const std::vector<Timing> timings = interleave(calls, {.target = kTarget * std::sqrt(kPlacements),
                                                           .min_rounds = kFewestForInterval,
                                                           .max_seconds = options.seconds / kPlacements,
                                                           .max_warmup_seconds = 1,
                                                           .seed = static_cast<uint64_t>(placement) + 1});
    for (size_t i = 0; i < timings.size(); ++i) {
      std::vector<double> per_text = timings[i].samples_ns;
      for (double& s : per_text) s /= static_cast<double>(sample.size());
      parts[i].push_back(summarise(timings[i].name, std::move(per_text), kTarget));
    }
  }
  std::vector<Timing> joint;
  for (const std::vector<Timing>& of_one : parts) joint.push_back(joined(of_one, kTarget));
  return joint;
}

double nearest_agreement(const NeighbourResult& a, const NeighbourResult& b) {
  int64_t same = 0;
  for (size_t i = 0; i < a.nearest.size(); ++i) same += a.nearest[i] == b.nearest[i];
  return static_cast<double>(same) / static_cast<double>(a.nearest.size());
}

Cell per_second(const Timing& t) {
  if (!std::isfinite(t.median_ci95.high)) return number(1e9 / t.p50);  // too few rounds for an interval
  return number(1e9 / t.p50, {1e9 / t.median_ci95.high, 1e9 / t.median_ci95.low});
}

Table results_table(const CompareFormatsOptions& options, const std::vector<Candidate>& all,
                    const std::vector<Timing>& latency, const std::vector<Timing>& throughput) {
  const NumberStyle bytes{NumberFormat::bytes, 3}, ms{NumberFormat::significant, 3}, percent{NumberFormat::percent, 1};
  Table table{
      .key = "results",
      .title = "Formats",
      .columns = {{"format", "weights"},
                  {"compute", "compute"},
                  {"file_bytes", "file", "", bytes},
                  {"weight_bytes", "weights", "", bytes},
                  {"peak_bytes", "peak memory", "", bytes},
                  {"latency_ms", "latency", "ms/text", ms, "latency_ms_ci95"},
                  {"per_second", "throughput", "texts/s", {NumberFormat::significant, 4}, "per_second_ci95"},
                  {"compile_cold_ms", "compile", "ms", ms},
                  {"compile_warm_ms", "cached", "ms", ms},
                  {"first_result_ms", "first result", "ms", ms},
                  {"accuracy", "accuracy", "", percent, "accuracy_ci95"},
                  {"agreement", "same neighbour", "", percent},
                  {"cosine", "cosine", "", {NumberFormat::fixed, 5}}},
      .rows = {},
      .note = fmt::format("{} thread(s). Latency: queries one by one. Throughput: batches of 32. First result: from "
                          "process start to the first embedding, tokenizer included, machine code cached. "
                          "Same neighbour and cosine (mean) are against {}. Peak memory is of the whole process.",
                          options.session.threads, all[0].run.format),
      .across = all.size() <= kMostAcross};
  for (size_t i = 0; i < all.size(); ++i) {
    const Candidate& c = all[i];
    const Timing &l = latency[i], &t = throughput[i];
    const RowCosine cosine = row_cosine(all[0].queries.as<float>(), c.queries.as<float>(), c.queries.dim(1));
    table.rows.push_back(
        {c.run.format, std::string(to_string(c.run.compute)), number(static_cast<double>(c.file_bytes)),
         number(static_cast<double>(c.weight_bytes)), median_cell(c.probes.warm, &ProbeResult::peak_bytes),
         number(l.p50 * 1e-6, {l.median_ci95.low * 1e-6, l.median_ci95.high * 1e-6}), per_second(t),
         median_cell(c.probes.cold, &ProbeResult::compile_ms), median_cell(c.probes.warm, &ProbeResult::compile_ms),
         median_cell(c.probes.warm, &ProbeResult::first_result_ms),
         number(c.result.accuracy, share_interval(c.result.accuracy, static_cast<double>(c.result.predicted.size()))),
         number(nearest_agreement(all[0].result, c.result)), number(cosine.mean)});
  }
  return table;
}

ScatterPlot size_accuracy_plot(const std::vector<Candidate>& all) {
  ScatterPlot plot{.key = "size_accuracy",
                   .title = "Size against accuracy",
                   .x = {"file size", "MB"},
                   .y = {"accuracy", "%"},
                   .points = {}};
  for (const Candidate& c : all) {
    const Interval share = share_interval(c.result.accuracy, static_cast<double>(c.result.predicted.size()));
    plot.points.push_back({c.run.format, static_cast<double>(c.file_bytes) * 1e-6, 100 * c.result.accuracy,
                           Interval{100 * share.low, 100 * share.high}});
  }
  return plot;
}

std::vector<Block> sqnr_bars(const std::vector<Candidate>& all) {
  std::vector<Block> blocks;
  for (const Candidate& c : all) {
    BarChart chart{.key = "sqnr_" + c.run.format,
                   .title = fmt::format("Signal to quantization noise per tensor, {}", c.run.format),
                   .value = {"SQNR", "dB"},
                   .bars = {}};
    for (const QuantizedTensor& t : c.quantized.tensors)
      if (t.sqnr_db && std::isfinite(*t.sqnr_db)) chart.bars.push_back({t.choice.name, *t.sqnr_db, t.choice.after});
    if (!chart.bars.empty()) blocks.push_back(chart);
  }
  return blocks;
}

// McNemar's test on the queries that exactly one of two models gets right: a difference is claimed at 95 % only.
std::string accuracy_verdict(const Candidate& base, const Candidate& c, const std::vector<int>& labels) {
  double gained = 0, lost = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const bool before = base.result.predicted[i] == labels[i], after = c.result.predicted[i] == labels[i];
    gained += after && !before;
    lost += before && !after;
  }
  const double points = 100 * (c.result.accuracy - base.result.accuracy);
  if (std::abs(gained - lost) <= 1.96 * std::sqrt(gained + lost))
    return fmt::format("no difference in accuracy shown ({:+.1f} points)", points);
  return fmt::format("accuracy {:+.1f} points", points);
}

std::vector<std::string> findings(const CompareFormatsOptions& options, const std::vector<Candidate>& all,
                                  const std::vector<Timing>& latency) {
  std::vector<std::string> lines;
  for (size_t i = 1; i < all.size(); ++i) {
    const Candidate &base = all[0], &c = all[i];
    lines.push_back(fmt::format("{}: {:.1f} % of the size of {}, {} per text, {}", c.run.format,
                                100.0 * static_cast<double>(c.file_bytes) / static_cast<double>(base.file_bytes),
                                base.run.format, verdict(speed_ratio(latency[0], latency[i])),
                                accuracy_verdict(base, c, options.task.queries.labels)));
  }
  return lines;
}

}  // namespace

Record compare_formats(const CompareFormatsOptions& options) {
  if (options.runs.empty()) fail("no formats to compare");
  std::filesystem::create_directories(options.folder);
  const Model model = load_model(options.model);
  std::vector<Candidate> candidates;
  for (const FormatRun& run : options.runs) {
    tell(options.progress, run.format + ": writing");
    candidates.push_back(write_and_open(options, model, run));
  }
  for (Candidate& c : candidates) {
    tell(options.progress, fmt::format("{}: embedding {} texts", c.run.format,
                                       options.task.index.texts.size() + options.task.queries.texts.size()));
    c.index = c.encoder->embed(options.task.index.texts);
    c.queries = c.encoder->embed(options.task.queries.texts);
    c.result = classify_by_neighbours(c.index, options.task.index.labels, c.queries, options.task.queries.labels);
  }
  probe_processes(options, candidates);
  tell(options.progress, "timing texts one by one, all formats in turn");
  const std::vector<Timing> latency = time_all(options, candidates, kLatencyTexts, 1);
  tell(options.progress, "timing batches, all formats in turn");
  const std::vector<Timing> throughput = time_all(options, candidates, kThroughputTexts, 32);

  Record record{.title = fmt::format("{} in {} formats", model.name, candidates.size()),
                .command = options.command,
                .findings = findings(options, candidates, latency),
                .sections = {},
                .machine = describe(environment()),
                .manifest = {}};
  const NumberStyle count{NumberFormat::integer, 0};
  record.sections.push_back(
      {"Results", {results_table(options, candidates, latency, throughput), size_accuracy_plot(candidates)}});
  record.sections.push_back(
      {"Task",
       {KeyValues{
           .key = "task",
           .title = options.task_name,
           .items = {{"index", "index texts", number(static_cast<double>(options.task.index.texts.size())), "", count},
                     {"queries", "queries", number(static_cast<double>(options.task.queries.texts.size())), "", count},
                     {"classes", "classes", number(static_cast<double>(options.task.index.names.size())), "", count},
                     {"sha256", "SHA-256 of the texts and labels", options.task.sha256}}}}});
  record.sections.push_back({"Precision", sqnr_bars(candidates)});
  const Candidate& last = candidates.back();
  record.sections.push_back(
      {"Graph", {graph_drawing(last.quantized.graph, fmt::format("The model with {} weights", last.run.format))}});
  record.manifest.push_back({"input", model.path, model.sha256(), model.file_bytes});
  for (const Candidate& c : candidates)
    record.manifest.push_back({"output", c.file, sha256_of_file(c.file), c.file_bytes});
  return record;
}

}  // namespace hone
