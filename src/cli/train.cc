#include "jobs/train_model.h"

#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "cli/evaluation_flags.h"
#include "cli/flags.h"
#include "cli/option_flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "cli/terminal_progress.h"

namespace hone {
namespace {

struct {
  TrainModelOptions options;
  std::string model, config;
  GivenOptions training, reading;
  RunFlags run;
  OutputFlags result;
  std::vector<std::string> inputs;
} flags;

void setup(CLI::App& app) {
  app.add_option("MODEL", flags.options.model, "A Hugging Face folder, an .onnx file or a file that hone wrote")
      ->required();
  app.add_option("--data", flags.options.data, "The data: a file or a folder");
  app.add_option("-o,--output", flags.options.output, "File to write, .safetensors or .onnx")->required();
  app.add_option("--folder", flags.options.folder,
                 "Of checkpoints and logs (default: OUTPUT without its ending, and .run)");
  app.add_flag("--resume", flags.options.resume, "Go on from the folder's last checkpoint, where there is one");
  app.add_option("--inputs", flags.options.inputs, "What a folder's model takes, e.g. input_ids,attention_mask")
      ->delimiter(',');
  app.add_option("--config", flags.config, "TOML file with the same keys; flags win");
  app.add_flag("--skip-bad", flags.options.skip_bad, "Leave out rows that can't be used");
  add_fields(app, training_fields(), flags.training);
  add_fields(app, DataOptions::fields(), flags.reading);
  flags.run.add_all_but_trust_to(app);
  flags.run.add_compute_to(app);
  flags.result.add_report_to(app);
  flags.result.add_to(app);
  app.footer("Optimizers, and their options:\n" + optimizers_text() +
             "Biases and the weights of normalisations do not decay unless --decay-all.\n\n" + app.get_footer());
}

// A process that works for rank 0, which does the talking, but for what goes wrong here alone.
int run_beside(Ranks& ranks) {
  set_log_sink([](LogLevel, std::string_view) {});
  flags.options.ranks = &ranks;
  try {
    train_model(flags.options);
  } catch (const SaidByRankZero&) {
    return 0;
  } catch (const Error& error) {
    fail("rank {}: {}", ranks.rank(), error.what());
  }
  ranks.leave();
  return 0;
}

int run() {
  TrainModelOptions& options = flags.options;
  const std::string data = options.data;
  if (!flags.config.empty()) read_train_config(flags.config, options.training, options.reading, options.data);
  if (!data.empty()) options.data = data;
  if (options.data.empty()) fail("no data: give --data, or the key data in --config");
  set_fields(training_fields(), options.training, flags.training);
  set_fields(DataOptions::fields(), options.reading, flags.reading);
  RunFiles files;
  files.reads("MODEL", options.model).reads("--data", options.data).reads("--config", flags.config);
  files.reads("--teacher", options.training.teacher);
  files.writes("--output", options.output).writes("--report", flags.result.report).check();
  options.session = flags.run.options();
  note_split_files(flags.reading);
  options.command = this_command();
  const std::unique_ptr<Ranks> ranks = Ranks::join();
  if (ranks && !ranks->is_first()) return run_beside(*ranks);
  options.ranks = ranks.get();
  options.progress = terminal_progress();
  Report report(flags.result);
  report.finish(
      train_model(options, [](const std::string& line) { std::fprintf(stderr, "%s\n", printable(line).c_str()); }));
  if (ranks) ranks->leave();
  return 0;
}

}  // namespace

extern constinit const VerbDef train_verb_def{
    .name = "train",
    .summary = "Train a model on data, with checkpoints and logs, and write it",
    .examples =
        "  hone train all-MiniLM-L6-v2 --data reviews.csv --validation-fraction 0.1 -o reviews.safetensors\n"
        "  hone train all-MiniLM-L6-v2 --data reviews.csv --rule 'embeddings|encoder=frozen' --rate 1e-2 -o "
        "probe.safetensors\n"
        "  hone train all-MiniLM-L6-v2 --data reviews.csv --lora op:linear --lora-rank 6 --rate 1e-3 -o "
        "adapted.safetensors\n"
        "  hone train classifier.safetensors --data reviews.csv --qat op:linear=int4.channel --learn-scales -o "
        "small.safetensors\n"
        "  hone train small --data reviews.csv --teacher large.safetensors --temperature 4 -o student.safetensors\n"
        "  hone train resnet18.safetensors --data /usr/share/datasets/fashion-mnist --from-scratch --optimizer sgd "
        "--optimizer-option momentum=0.9 --rate 0.1 --schedule one-cycle -o fashion.safetensors\n"
        "  mpirun -n 2 hone train all-MiniLM-L6-v2 --data reviews.csv --batch 64 -o reviews.safetensors\n"
        "  hone train model.onnx --config train.toml --resume -o tuned.safetensors --report training.html",
    .setup = setup,
    .run = run};

}  // namespace hone
