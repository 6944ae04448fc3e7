#include "jobs/sweep.h"

#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "jobs/evaluation_flags.h"
#include "jobs/format_list.h"
#include "jobs/prune_sweep.h"
#include "jobs/quantize_flags.h"
#include "report/html.h"

namespace hone {
namespace {

struct SweepVerb : ModelFlags, EvaluationFlags, QuantizeFlags, RunFlags, ResultFlags {
  SweepVerb() { QuantizeFlags::compute = "f32"; }
  std::vector<std::string> formats, methods;
  std::string folder, sparsity, train_config;
  std::string structure = PruneOptions().structure, scope = PruneOptions().scope;
  bool with_activations = false, train = false;
  static std::span<const OptionField<SweepVerb>> fields();
};

constexpr OptionField<SweepVerb> kAsked[] = {
    flag("formats", "Formats and patterns, e.g. 'int{4..32}.f{2,4,8},mxint{2..8}'", &SweepVerb::formats,
         {.takes_several = true}),
    flag("sparsity", "Prune instead, to these shares: 0.1:0.9, 0.5:0.9:0.05 or 0.5,0.75", &SweepVerb::sparsity),
    flag("methods", "Scores to prune by, e.g. random,l1 (hone prune --help lists them)", &SweepVerb::methods,
         {.has_commas = true, .takes_several = true, .only_with = "sparsity"}),
    flag("structure", "What is pruned: none, heads, neurons, channels or layers", &SweepVerb::structure,
         {.only_with = "sparsity"}),
    flag("scope", "local or global", &SweepVerb::scope, {.only_with = "sparsity"}),
    required_flag("output", "Folder for sweep.csv, the plots, the report, and what was measured", &SweepVerb::folder,
                  {.value = "FOLDER", .letter = 'o'})};
constexpr OptionField<EvaluationFlags> kData[] = {
    flag("data",
         "What quality is measured on, half of it to choose by and half to report: a file as of --calib, or a data set "
         "(default: that of --calib; where the method learns, it learns from the other half)",
         &EvaluationFlags::data, {.file = OptionFile::reads})};
constexpr OptionField<SweepVerb> kOwn[] = {
    flag("with-activations", "The inputs of products in each format too", &SweepVerb::with_activations),
    flag("train",
         "Train the model in each format as well, beside quantizing it: for one epoch on the training rows of --data, "
         "or as --train-config says",
         &SweepVerb::train),
    flag("train-config", "TOML file with the keys of hone train --config", &SweepVerb::train_config,
         {.file = OptionFile::reads, .only_with = "train"})};

std::span<const OptionField<SweepVerb>> SweepVerb::fields() {
  static const auto all = joined_fields<SweepVerb>(
      ModelFlags::fields().first(2), kAsked, kData, EvaluationFlags::choice_fields("data-"), kOwn,
      QuantizeFlags::fields(), RunFlags::fields(), RunFlags::trust_fields(), ResultFlags::fields());
  return all;
}

// The last layer stays what it is: outputs are compared with the original's.
std::optional<TrainModelOptions> training(const SweepVerb& verb, const SessionOptions& session) {
  if (!verb.train) return std::nullopt;
  TrainModelOptions training;
  training.training.epochs = 1;
  training.training.head = "keep";
  training.data = verb.data;
  training.reading = verb.choice().data.reading;
  if (!verb.train_config.empty())
    read_train_config(verb.train_config, training.training, training.reading, training.data);
  if (training.data.empty()) fail("there is nothing to train on; give --data, or the key data in --train-config");
  if (!training.training.qat.empty())
    fail("{}: qat says what is rounded, which here --formats do; leave it out", verb.train_config);
  training.session = session;
  return training;
}

Record sweep_formats(const SweepVerb& verb, const SessionOptions& session) {
  return sweep({.model = verb.model,
                .folder = verb.folder,
                .inputs = verb.inputs,
                .formats = parse_format_list(verb.formats),
                .activations = verb.with_activations,
                .quantize = verb.quantize(),
                .data = {verb.data, verb.calibration().batch, {}},
                .calibration = verb.calibration(),
                .judged = verb.choice(),
                .training = training(verb, session),
                .session = session,
                .command = this_command(),
                .progress = terminal_progress()});
}

// The options of quantizing stay unused, but for the data.
Record sweep_pruning(const SweepVerb& verb, const SessionOptions& session) {
  if (!options_toml(quantize_fields(), verb.quantize()).empty() || verb.with_activations || verb.train)
    fail("options of formats are given with --sparsity; they are for --formats");
  PruneOptions prune;
  prune.structure = verb.structure, prune.scope = verb.scope;
  return prune_sweep({.model = verb.model,
                      .folder = verb.folder,
                      .inputs = verb.inputs,
                      .sparsities = parse_sparsities(verb.sparsity),
                      .methods = verb.methods.empty() ? std::vector<std::string>{"l1"} : verb.methods,
                      .prune = prune,
                      .data = {verb.data, verb.calibration().batch, {}},
                      .calibration = verb.calibration(),
                      .judged = verb.choice(),
                      .session = session,
                      .command = this_command(),
                      .progress = terminal_progress()});
}

int run(SweepVerb& verb) {
  verb.check();
  RunFiles files = files_of(verb);
  for (const char* name : {"sweep.csv", "sweep.html", "curves.svg", "best_so_far.svg", "measurements.txt"})
    files.writes("--output", verb.folder + "/" + name);
  files.check();
  SessionOptions session = verb.session_options();
  session.compute = verb.compute_type();
  if (verb.data.empty() && verb.calibration().file.empty())
    fail("there is nothing to measure quality on; give --data FILE");
  if (verb.formats.empty() == verb.sparsity.empty())
    fail("a sweep is over formats or over sparsities; give one of --formats and --sparsity");
  const Record record = verb.sparsity.empty() ? sweep_formats(verb, session) : sweep_pruning(verb, session);
  verb.print(record);
  write_file(verb.folder + "/sweep.html", html(record));
  return 0;
}

constexpr Verb<SweepVerb> kVerb{
    .name = "sweep",
    .task = VerbTask::compress,
    .summary = "A model in many number formats, or pruned in many ways, one after the other: table and curves",
    .examples =
        "  hone sweep all-MiniLM-L6-v2 --formats 'int{4..32}.f{2,4,8}' --data texts.txt -o sweep\n"
        "  hone sweep cnn.onnx --formats 'mxint{2..8},bfp{2..12},log{3..8}' --with-activations --data test.npz -o "
        "sweep\n"
        "  hone sweep cnn.onnx --formats 'mxint{2..8}' --method gptq --calib train.npz --data test.npz -o sweep\n"
        "  hone sweep classifier --formats 'int{3..8}.g32' --data reviews.csv --metric f1 -o sweep\n"
        "  hone sweep cnn --train --formats 'int{4..32}.f{2,4,8}' --data fashion-mnist -o sweep\n"
        "  hone sweep classifier --sparsity 0.1:0.9 --methods random,l1 --data reviews.csv -o sweep",
    .run = run,
    .read_config = [](SweepVerb& verb) { verb.read_config_file(); }};

}  // namespace

extern constinit const VerbDef sweep_verb_def = verb_def<kVerb>();

}  // namespace hone
