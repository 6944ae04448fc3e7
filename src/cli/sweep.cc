#include "jobs/sweep.h"

#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/evaluation_flags.h"
#include "cli/quantize_flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "cli/terminal_progress.h"
#include "jobs/format_list.h"
#include "jobs/prune_sweep.h"
#include "report/html.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  QuantizeFlags quantize;
  RunFlags run;
  OutputFlags result;
  std::vector<std::string> formats;
  std::string folder;
  EvaluationFlags evaluation;
  bool with_activations = false;
  std::string sparsity, train_config;
  bool train = false;
  std::vector<std::string> methods;
  PruneOptions prune;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  app.add_option("--formats", flags.formats, "Formats and patterns, e.g. 'int{4..32}.f{2,4,8},mxint{2..8}'");
  CLI::Option* sparsity =
      app.add_option("--sparsity", flags.sparsity, "Prune instead, to these shares: 0.1:0.9, 0.5:0.9:0.05 or 0.5,0.75");
  app.add_option("--methods", flags.methods, "Scores to prune by, e.g. random,l1 (hone prune --help lists them)")
      ->delimiter(',')
      ->needs(sparsity);
  app.add_option("--structure", flags.prune.structure, "What is pruned: none, heads, neurons, channels or layers")
      ->needs(sparsity);
  app.add_option("--scope", flags.prune.scope, "local or global")->needs(sparsity);
  app.add_option("-o,--output", flags.folder, "Folder for sweep.csv, the plots, the report, and what was measured")
      ->required();
  flags.evaluation.add_choice_to(
      app,
      "What quality is measured on, half of it to choose by and half to report: a file as of --calib, or a "
      "data set (default: that of --calib; where the method learns, it learns from the other half)");
  app.add_flag("--with-activations", flags.with_activations, "The inputs of products in each format too");
  CLI::Option* train = app.add_flag("--train", flags.train,
                                    "Train the model in each format as well, beside quantizing it: for one epoch on "
                                    "the training rows of --data, or as "
                                    "--train-config says");
  app.add_option("--train-config", flags.train_config, "TOML file with the keys of hone train --config")->needs(train);
  flags.quantize.compute = "f32";
  flags.quantize.add_to(app);
  flags.run.add_to(app);
  flags.result.add_to(app);
}

// The last layer stays what it is: outputs are compared with the original's.
std::optional<TrainModelOptions> training(const SessionOptions& session) {
  if (!flags.train) return std::nullopt;
  TrainModelOptions training;
  training.training.epochs = 1;
  training.training.head = "keep";
  training.data = flags.evaluation.data;
  training.reading = flags.evaluation.get_choice().data.reading;
  if (!flags.train_config.empty())
    read_train_config(flags.train_config, training.training, training.reading, training.data);
  if (training.data.empty()) fail("there is nothing to train on; give --data, or the key data in --train-config");
  if (!training.training.qat.empty())
    fail("{}: qat says what is rounded, which here --formats do; leave it out", flags.train_config);
  training.session = session;
  return training;
}

Record sweep_formats(const SessionOptions& session) {
  const Calibration& calibration = flags.quantize.calibration;
  return sweep({.model = flags.model.model,
                .folder = flags.folder,
                .inputs = flags.model.inputs,
                .formats = parse_format_list(flags.formats),
                .activations = flags.with_activations,
                .quantize = flags.quantize.options,
                .data = {flags.evaluation.data, calibration.batch, {}},
                .calibration = calibration,
                .judged = flags.evaluation.get_choice(),
                .training = training(session),
                .session = session,
                .command = this_command(),
                .progress = terminal_progress()});
}

// The options of quantizing stay unused, but for the data.
Record sweep_pruning(const SessionOptions& session) {
  if (!options_toml(quantize_fields(), flags.quantize.options).empty() || flags.with_activations || flags.train)
    fail("options of formats are given with --sparsity; they are for --formats");
  const Calibration& calibration = flags.quantize.calibration;
  const std::vector<std::string> methods = flags.methods.empty() ? std::vector<std::string>{"l1"} : flags.methods;
  return prune_sweep({.model = flags.model.model,
                      .folder = flags.folder,
                      .inputs = flags.model.inputs,
                      .sparsities = parse_sparsities(flags.sparsity),
                      .methods = methods,
                      .prune = flags.prune,
                      .data = {flags.evaluation.data, calibration.batch, {}},
                      .calibration = calibration,
                      .judged = flags.evaluation.get_choice(),
                      .session = session,
                      .command = this_command(),
                      .progress = terminal_progress()});
}

int run() {
  flags.quantize.read();
  RunFiles files;
  files.reads("MODEL", flags.model.model).reads("--data", flags.evaluation.data);
  flags.quantize.read_by(files);
  files.reads("--train-config", flags.train_config);
  for (const char* name : {"sweep.csv", "sweep.html", "curves.svg", "best_so_far.svg", "measurements.txt"})
    files.writes("--output", flags.folder + "/" + name);
  files.check();
  SessionOptions session = flags.run.options();
  session.compute = flags.quantize.compute_type();
  const Calibration& calibration = flags.quantize.calibration;
  if (flags.evaluation.data.empty() && calibration.file.empty())
    fail("there is nothing to measure quality on; give --data FILE");
  if (flags.formats.empty() == flags.sparsity.empty())
    fail("a sweep is over formats or over sparsities; give one of --formats and --sparsity");
  const Record record = flags.sparsity.empty() ? sweep_formats(session) : sweep_pruning(session);
  flags.result.print(record);
  write_file(flags.folder + "/sweep.html", html(record));
  return 0;
}

}  // namespace

extern constinit const VerbDef sweep_verb_def{
    .name = "sweep",
    .summary = "A model in many number formats, or pruned in many ways, one after the other: table and curves",
    .examples =
        "  hone sweep all-MiniLM-L6-v2 --formats 'int{4..32}.f{2,4,8}' --data texts.txt -o sweep\n"
        "  hone sweep cnn.onnx --formats 'mxint{2..8},bfp{2..12},log{3..8}' --with-activations --data test.npz -o "
        "sweep\n"
        "  hone sweep cnn.onnx --formats 'mxint{2..8}' --method gptq --calib train.npz --data test.npz -o sweep\n"
        "  hone sweep classifier --formats 'int{3..8}.g32' --data reviews.csv --metric f1 -o sweep\n"
        "  hone sweep cnn --train --formats 'int{4..32}.f{2,4,8}' --data fashion-mnist -o sweep\n"
        "  hone sweep classifier --sparsity 0.1:0.9 --methods random,l1 --data reviews.csv -o sweep",
    .setup = setup,
    .run = run};

}  // namespace hone
