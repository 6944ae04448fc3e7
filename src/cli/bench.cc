#include "jobs/bench.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "base/file_name.h"
#include "cli/evaluation_flags.h"
#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "cli/terminal_progress.h"
#include "io/numpy.h"
#include "jobs/bench_attention.h"
#include "jobs/open_session.h"
#include "jobs/probe.h"
#include "measure/peaks.h"

namespace hone {
namespace {

struct {
  std::vector<std::string> models;
  ModelFlags model;
  ShapeFlags shapes;
  RunFlags run;
  GivenFlags given;
  EvaluationFlags evaluation;
  OutputFlags output;
  double seconds = 20;
  uint64_t seed = 1;
  bool on_demand = false, no_probe = false, check_finite = false;
  int64_t queries = 0, kv_heads = 0, page_rows = 0;
  std::string kv_format;
  std::string output_dir, protocol = "fair", samples, op, shape = "32,8,128,64", type = "f32";
  bool causal = false;
} flags;

void setup(CLI::App& app) {
  app.add_option("MODEL", flags.models, "Folders or files; the first is what the others are compared with");
  flags.model.add_inputs_to(app);
  flags.shapes.add_to(app);
  flags.run.add_to(app);
  flags.run.add_compute_to(app);
  flags.given.add_to(app);
  flags.evaluation.add_to(app, "data-");
  app.add_option("--seconds", flags.seconds, "Longest measured part")->check(seconds_range())->capture_default_str();
  app.add_option("--seed", flags.seed, "Of made-up inputs and of the order of rounds")->capture_default_str();
  app.add_flag("--no-probe", flags.no_probe,
               "Leave out what needs fresh processes: compile times, first result, memory");
  app.add_option("--protocol", flags.protocol,
                 "fair: warm-up, interleaved rounds, medians; lab: also the mean of five runs, compilation included, "
                 "and what the difference is")
      ->check(CLI::IsMember({"fair", "lab"}))
      ->capture_default_str();
  app.add_option("--samples", flags.samples, "CSV file for the nanoseconds of every round");
  app.add_flag("--check-finite", flags.check_finite, kCheckFiniteHelp);
  app.add_flag("--on-demand", flags.on_demand,
               "Time one inference for each line on standard input and print its nanoseconds, so that a script can "
               "interleave another system");
  app.add_option("--output-dir", flags.output_dir, "With --on-demand: write the outputs there as .npy");
  CLI::Option* op =
      app.add_option("--op", flags.op, "Instead of models: one op, spelled out beside fused, with where the time goes")
          ->check(CLI::IsMember({"attention"}));
  app.add_option("--shape", flags.shape, "With --op: batches,heads,length,columns of a head")
      ->needs(op)
      ->capture_default_str();
  app.add_option("--queries", flags.queries, "With --op: queries of each head, the last of its keys (default: as many)")
      ->needs(op)
      ->check(CLI::PositiveNumber);
  app.add_option("--kv-heads", flags.kv_heads, "With --op: heads of keys and values, shared (default: one each)")
      ->needs(op)
      ->check(CLI::PositiveNumber);
  app.add_option("--type", flags.type, "With --op: of its operands")
      ->needs(op)
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  app.add_option("--kv-format", flags.kv_format,
                 "With --op: number format of keys and values, whose codes the fused form reads, e.g. int8.g64")
      ->needs(op);
  app.add_option(
         "--page-rows", flags.page_rows,
         "With --op: keys and values lie in pages of so many, in a random order (default: one behind the other)")
      ->needs(op)
      ->check(CLI::PositiveNumber);
  app.add_flag("--causal", flags.causal, "With --op: a query sees no key behind its own")->needs(op);
  flags.output.add_to(app);
}

int answer_on_demand() {
  if (flags.models.size() != 1) fail("--on-demand times one model; {} were given", flags.models.size());
  Session session = open_session(load_model(flags.models[0], flags.model.inputs), flags.run.options());
  NamedTensors inputs = flags.given.get();
  if (inputs.empty())
    inputs = default_inputs(session.graph(), bind_symbols(session.graph(), flags.shapes.get()), flags.seed);
  const std::vector<Tensor> outputs = session.run(inputs);
  const std::vector<std::string> files = plain_file_names(session.output_names(), ".npy");
  if (!flags.output_dir.empty()) {
    std::filesystem::create_directories(flags.output_dir);
    for (size_t i = 0; i < outputs.size(); ++i) write_npy(flags.output_dir + "/" + files[i], outputs[i]);
  }
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    session.run(inputs);
    const auto ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
    std::printf("%lld\n", static_cast<long long>(ns));
    std::fflush(stdout);
  }
  return 0;
}

int bench_op() {
  if (!flags.models.empty()) fail("--op {} takes no model; {} was given", flags.op, flags.models[0]);
  const SessionOptions session = flags.run.options();
  const Record record = bench_attention({.shape = parse_attention_shape(flags.shape),
                                         .queries = flags.queries,
                                         .kv_heads = flags.kv_heads,
                                         .type = flags.type == "bf16" ? DType::bf16 : DType::f32,
                                         .kv_format = flags.kv_format,
                                         .page_rows = flags.page_rows,
                                         .causal = flags.causal,
                                         .session = session,
                                         .peaks = machine_peaks(device_or_cpu(session.device), session.cache_folder),
                                         .seconds = flags.seconds,
                                         .seed = flags.seed,
                                         .command = this_command()});
  flags.output.print(record);
  return 0;
}

int run() {
  if (!flags.op.empty()) return bench_op();
  if (flags.models.empty()) fail("no model to time: give a folder or file, or --op attention");
  RunFiles()
      .reads("MODEL", flags.models)
      .reads_pairs("--input", flags.given.given)
      .reads("--data", flags.evaluation.data)
      .writes("--samples", flags.samples)
      .check();
  if (flags.on_demand) return answer_on_demand();
  const Record record = bench({.models = flags.models,
                               .open = {.inputs = flags.model.inputs,
                                        .given = flags.given.get(),
                                        .shapes = flags.shapes.get(),
                                        .session = flags.run.options(),
                                        .seed = flags.seed,
                                        .check_finite = flags.check_finite},
                               .program = flags.no_probe ? "" : this_program(),
                               .seconds = flags.seconds,
                               .evaluation = flags.evaluation.get(),
                               .lab = flags.protocol == "lab",
                               .samples = flags.samples,
                               .command = this_command(),
                               .progress = terminal_progress()});
  flags.output.print(record);
  return 0;
}

}  // namespace

extern constinit const VerbDef bench_verb_def{
    .name = "bench",
    .summary = "Time models against each other in one run: interleaved, with intervals, compile time and memory apart",
    .examples =
        "  hone bench all-MiniLM-L6-v2 small.safetensors\n"
        "  hone bench small.safetensors --batch 32 --seq 128 --threads 2 --json\n"
        "  hone bench all-MiniLM-L6-v2 small.safetensors --protocol lab\n"
        "  hone bench --op attention --shape 32,8,128,64 --type bf16\n"
        "  hone bench classifier small.safetensors --data reviews.csv --metric accuracy,f1",
    .setup = setup,
    .run = run};

}  // namespace hone
