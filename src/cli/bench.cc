#include "views/bench.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "base/atomic_file.h"
#include "base/file_name.h"
#include "cli/flags.h"
#include "cli/new_process.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "io/numpy.h"
#include "jobs/op_flags.h"
#include "jobs/open_session.h"
#include "measure/peaks.h"
#include "views/bench_attention.h"
#include "views/bench_matrix.h"
#include "views/call_series.h"

namespace hone {
namespace {

struct BenchVerb : ModelsFlags, BenchOptions, OpFlags, ResultFlags {
  bool on_demand = false;
  std::optional<int64_t> calls;
  std::string output_dir, samples;
  static std::span<const OptionField<BenchVerb>> fields();
};

constexpr OptionField<ModelsFlags> kModels[] = {
    flag("model", "Folders or files; the first is what the others are compared with", &ModelsFlags::model,
         {.file = OptionFile::reads, .is_positional = true})};
constexpr OptionField<BenchVerb> kOwn[] = {
    flag("samples", "CSV file for the nanoseconds of every round", &BenchVerb::samples, {.file = OptionFile::writes}),
    flag("calls",
         "Instead of rounds: so many calls of one model from the first on, compiled and node by node, and what means "
         "over 5, 20 and all of them say, with and without warm-up",
         &BenchVerb::calls, {.least = kFewestCalls, .most = 100000}),
    flag(
        "on-demand",
        "Time one inference for each line on standard input and print its nanoseconds, so that a script can interleave "
        "another system",
        &BenchVerb::on_demand),
    flag("output-dir", "With --on-demand: write the outputs there as .npy", &BenchVerb::output_dir,
         {.value = "FOLDER"})};
std::span<const OptionField<BenchVerb>> BenchVerb::fields() {
  static const auto all =
      joined_fields<BenchVerb>(kModels, ModelsFlags::fields().subspan(1), BenchOptions::own_fields(), kOwn,
                               CheckFiniteFlags::fields(), OpFlags::fields(), ResultFlags::fields());
  return all;
}

int answer_on_demand(const BenchVerb& verb) {
  if (verb.model.size() != 1) fail("--on-demand times one model; {} were given", verb.model.size());
  Session session = open_session(load_model(verb.model[0], verb.inputs, verb.model_format), verb.session_options());
  NamedTensors inputs = verb.given();
  if (inputs.empty()) inputs = default_inputs(session.graph(), bind_symbols(session.graph(), verb.shapes()), verb.seed);
  const std::vector<Tensor> outputs = session.run(inputs);
  const std::vector<std::string> files = plain_file_names(session.output_names(), ".npy");
  if (!verb.output_dir.empty()) {
    std::filesystem::create_directories(verb.output_dir);
    for (size_t i = 0; i < outputs.size(); ++i) write_npy(verb.output_dir + "/" + files[i], outputs[i]);
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

Record timed_op(const BenchVerb& verb) {
  const SessionOptions session = verb.session_options();
  const OpMeasuring how{.session = session,
                        .peaks = machine_peaks(device_or_cpu(session.device), session.cache_folder),
                        .seconds = verb.seconds,
                        .seed = verb.seed};
  if (verb.op == "linear") return view_of(bench_linear(verb.linear(), how));
  if (verb.op == "dequantize") return view_of(bench_dequantize(verb.dequantize(), how));
  return view_of(bench_attention(verb.attention(), how));
}

int bench_op(const BenchVerb& verb) {
  if (!verb.model.empty()) fail("--op {} takes no model; {} was given", verb.op, verb.model[0]);
  Record record = timed_op(verb);
  record.command = this_command();
  verb.print(record);
  return 0;
}

int show_calls(const BenchVerb& verb) {
  if (verb.model.size() != 1) fail("--calls is of one model; {} were given", verb.model.size());
  if (!verb.samples.empty()) fail("--samples is of rounds; the record of --calls has every call");
  Record record =
      view_of(call_series(verb.load()[0], verb.timing().open, *verb.calls, {.progress = terminal_progress()}));
  record.command = this_command();
  verb.print(record);
  return 0;
}

void refuse_model_as_samples(const std::string& samples, const std::vector<Model>& models) {
  for (const Model& model : models)
    for (const std::string& file : model.weight_files)
      if (std::error_code none; std::filesystem::equivalent(samples, file, none))
        fail("{}: is a model that is measured; choose another name for the samples", samples);
}

int run(BenchVerb& verb) {
  if (!verb.op.empty()) return bench_op(verb);
  if (verb.model.empty()) fail("no model to time: give a folder or file, or --op attention, linear or dequantize");
  files_of(verb).check();
  if (verb.on_demand) return answer_on_demand(verb);
  if (verb.calls) return show_calls(verb);
  const TimeModelsOptions options = verb.timing();
  const std::vector<Model> models = verb.load();
  refuse_model_as_samples(verb.samples, models);
  const BenchResult result = time_models(
      models, options, {.progress = terminal_progress(), .new_process = new_processes(verb.inputs, verb.model_format)});
  if (!verb.samples.empty()) write_file(verb.samples, samples_csv(result));
  Record record = view_of(result);
  record.command = this_command();
  verb.print(record);
  return 0;
}

constexpr Verb<BenchVerb> kVerb{
    .name = "bench",
    .task = VerbTask::measure,
    .summary = "Time models against each other in one run: interleaved, with intervals, compile time and memory apart",
    .examples =
        "  hone bench all-MiniLM-L6-v2 small.safetensors\n"
        "  hone bench small.safetensors --batch 32 --seq 128 --threads 2 --json\n"
        "  hone bench all-MiniLM-L6-v2 small.safetensors --protocol lab\n"
        "  hone bench resnet18.onnx --calls 100 --batch 64\n"
        "  hone bench --op attention --shape 32,8,128,64 --type bf16\n"
        "  hone bench --op linear --shape 4096,14336 --rows 16 --weight-format int4.g64\n"
        "  hone bench classifier small.safetensors --data reviews.csv --metric accuracy,f1",
    .run = run};

}  // namespace

extern constinit const VerbDef bench_verb_def = verb_def<kVerb>();

}  // namespace hone
