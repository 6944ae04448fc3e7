#include "jobs/train_model.h"

#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "jobs/evaluation_flags.h"

namespace hone {
namespace {

struct TrainVerb : TrainingOptions, DataOptions, RunFlags, ResultFlags {
  std::string model, data, output, folder, config;
  std::vector<std::string> inputs;
  bool resume = false, skip_bad = false;
  static std::span<const OptionField<TrainVerb>> fields();
};

constexpr OptionField<TrainVerb> kOwn[] = {
    required_flag("model", "A Hugging Face folder, an .onnx file or a file that hone wrote", &TrainVerb::model,
                  {.file = OptionFile::reads, .is_positional = true}),
    flag("data", "The data: a file or a folder", &TrainVerb::data, {.file = OptionFile::reads}),
    required_flag("output", "File to write, .safetensors or .onnx", &TrainVerb::output,
                  {.file = OptionFile::writes, .letter = 'o'}),
    flag("folder", "Of checkpoints and logs (default: OUTPUT without its ending, and .run)", &TrainVerb::folder,
         {.value = "FOLDER"}),
    flag("resume", "Go on from the folder's last checkpoint, where there is one", &TrainVerb::resume),
    flag("inputs", "What a folder's model takes, e.g. input_ids,attention_mask", &TrainVerb::inputs,
         {.has_commas = true, .takes_several = true}),
    flag("config", "TOML file with the same keys; flags win", &TrainVerb::config, {.file = OptionFile::reads}),
    flag("skip-bad", "Leave out rows that can't be used", &TrainVerb::skip_bad)};

std::span<const OptionField<TrainVerb>> TrainVerb::fields() {
  static const auto all =
      joined_fields<TrainVerb>(kOwn, training_fields(), DataOptions::fields(), RunFlags::fields(),
                               RunFlags::compute_fields(), ResultFlags::report_fields(), ResultFlags::fields());
  return all;
}

std::string notes() {
  return "Optimizers, and their options:\n" + optimizers_text() +
         "Biases and the weights of normalisations do not decay unless --decay-all.\n";
}

void read_config(TrainVerb& verb) { read_train_config(verb.config, verb, verb, verb.data); }

// A process that works for rank 0, which does the talking, but for what goes wrong here alone.
int run_beside(Ranks& ranks, TrainModelOptions& options) {
  set_log_sink([](LogLevel, std::string_view) {});
  options.ranks = &ranks;
  try {
    train_model(options);
  } catch (const SaidByRankZero&) {
    return 0;
  } catch (const Error& error) {
    fail("rank {}: {}", ranks.rank(), error.what());
  }
  ranks.leave();
  return 0;
}

int run(TrainVerb& verb) {
  if (verb.data.empty()) fail("no data: give --data, or the key data in --config");
  files_of(verb).reads("--teacher", verb.teacher).check();
  TrainModelOptions options{.model = verb.model,
                            .data = verb.data,
                            .output = verb.output,
                            .folder = verb.folder,
                            .inputs = verb.inputs,
                            .reading = verb,
                            .skip_bad = verb.skip_bad,
                            .training = verb,
                            .session = verb.session_options(),
                            .resume = verb.resume,
                            .command = this_command()};
  const std::unique_ptr<Ranks> ranks = Ranks::join();
  if (ranks && !ranks->is_first()) return run_beside(*ranks, options);
  options.ranks = ranks.get();
  options.progress = terminal_progress();
  Report report(verb);
  report.finish(
      train_model(options, [](const std::string& line) { std::fprintf(stderr, "%s\n", printable(line).c_str()); }));
  if (ranks) ranks->leave();
  return 0;
}

constexpr Verb<TrainVerb> kVerb{
    .name = "train",
    .task = VerbTask::train,
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
    .run = run,
    .read_config = read_config,
    .notes = notes};

}  // namespace

extern constinit const VerbDef train_verb_def = verb_def<kVerb>();

}  // namespace hone
