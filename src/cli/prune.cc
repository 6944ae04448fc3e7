#include "cli/flags.h"
#include "cli/option_flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "cli/terminal_progress.h"
#include "jobs/prune_model.h"
#include "prune/registry.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  GivenOptions prune, schedule;
  PruneModelOptions options;
  RunFlags run;
  OutputFlags result;
} flags;

std::string methods_text() {
  std::string text;
  for (const ScoreDef* def : prune::all()) text += fmt::format("  {:10} {}\n", def->name, def->doc);
  return text;
}

void setup(CLI::App& app) {
  flags.model.add_to(app);
  add_fields(app, prune_fields(), flags.prune);
  add_fields(app, prune_schedule_fields(), flags.schedule);
  app.add_option(
      "--data", flags.options.data.file,
      "What scores, and training, learn from: texts, arrays or a data set; for snip and movement with labels");
  app.add_option("--batch", flags.options.data.batch, "Samples of it that run at once")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  app.add_option("--train-config", flags.options.train_config,
                 "TOML file with the keys of hone train: trains what is left, after each stage; zeros stay");
  app.add_option("--store", flags.options.store,
                 "whole, or sparse: a bitmap and the values that are left, where that is smaller")
      ->capture_default_str();
  app.add_option("--seconds", flags.options.seconds,
                 "Measure the original and what is written beside each other for so long (default: not)")
      ->check(seconds_range());
  app.add_option("-o,--output", flags.options.output, "File to write, .safetensors or .onnx")->required();
  flags.run.add_all_but_trust_to(app);
  flags.result.add_to(app);
  app.footer("Methods:\n" + methods_text() + "\n" + app.get_footer());
}

int run() {
  PruneModelOptions& options = flags.options;
  set_fields(prune_fields(), options.prune, flags.prune);
  set_fields(prune_schedule_fields(), options.schedule, flags.schedule);
  RunFiles()
      .reads("MODEL", flags.model.model)
      .reads("--data", options.data.file)
      .reads("--train-config", options.train_config)
      .writes("--output", options.output)
      .check();
  options.data.session = flags.run.options();
  options.open.inputs = flags.model.inputs;
  options.open.session = options.data.session;
  options.command = this_command();
  options.progress = terminal_progress();
  flags.result.print(prune_model(flags.model.load(), options));
  return 0;
}

}  // namespace

extern constinit const VerbDef prune_verb_def{
    .name = "prune",
    .summary = "Take out the weights, channels, heads or layers that are worth least",
    .examples =
        "  hone prune all-MiniLM-L6-v2 --sparsity 0.5 --store sparse --seconds 10 -o sparse.safetensors\n"
        "  hone prune classifier.safetensors --structure 2:4 --method wanda --data reviews.csv -o sparse.safetensors\n"
        "  hone prune classifier.safetensors --structure heads --sparsity 0.25 -o smaller.safetensors\n"
        "  hone prune resnet18.onnx --structure channels --scope global --sparsity 0.3 -o smaller.safetensors\n"
        "  hone prune classifier.safetensors --sparsity 0.8 --schedule gradual --stages 4 --data reviews.csv "
        "--train-config train.toml -o sparse.safetensors",
    .setup = setup,
    .run = run};

}  // namespace hone
