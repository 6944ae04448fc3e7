#include "jobs/train_model.h"

#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "exporters/exporter.h"
#include "views/train.h"

namespace hone {
namespace {

struct TrainVerb : ModelFlags, TrainOptions, ResultFlags {
  std::string output, config;
  static std::span<const OptionField<TrainVerb>> fields();
};

constexpr OptionField<ModelFlags> kModel[] = {
    required_flag("model", "A Hugging Face folder, an .onnx file or a file that hone wrote", &ModelFlags::model,
                  {.file = OptionFile::reads, .is_positional = true})};
constexpr OptionField<TrainVerb> kOutput[] = {required_flag(
    "output", "File to write, .safetensors or .onnx", &TrainVerb::output, {.file = OptionFile::writes, .letter = 'o'})};
constexpr OptionField<ModelFlags> kInputs[] = {flag("inputs",
                                                    "Inputs of a folder's model, e.g. input_ids,attention_mask",
                                                    &ModelFlags::inputs, {.has_commas = true, .takes_several = true})};
constexpr OptionField<TrainVerb> kConfig[] = {
    flag("config", "TOML file with the same keys; flags win", &TrainVerb::config, {.file = OptionFile::reads})};

std::span<const OptionField<TrainVerb>> TrainVerb::fields() {
  constexpr size_t kData = 1, kFolderAndResume = 2;
  const auto own = TrainOptions::fields();
  static const auto all =
      joined_fields<TrainVerb>(kModel, own.first(kData), kOutput, own.subspan(kData, kFolderAndResume), kInputs,
                               ModelFlags::model_format_field(), kConfig, own.subspan(kData + kFolderAndResume),
                               ResultFlags::report_fields(), ResultFlags::fields());
  return all;
}

std::string notes() {
  return "Optimizers, and their options:\n" + optimizers_text() +
         "Biases and the weights of normalizations do not decay unless --decay-all.\n";
}

void read_config(TrainVerb& verb) { read_train_config(verb.config, verb, verb, verb.data); }

Model opened(const TrainVerb& verb) {
  check_training(verb);
  exporter_for(verb.output);  // a name that says no format is refused before the work
  Model model = verb.load();
  refuse_source_as_output(verb.output, model);
  return model;
}

// All ranks hear of what one can't begin by.
Model opened(const TrainVerb& verb, Ranks* ranks) {
  try {
    return opened(verb);
  } catch (const Error& problem) {
    if (ranks) ranks->meet(problem.what(), "");
    throw;
  }
}

// A process that works for rank 0, which does the talking, but for what goes wrong here alone.
int run_beside(Ranks& ranks, const TrainVerb& verb, const TrainModelOptions& options) {
  set_log_sink([](LogLevel, std::string_view) {});
  try {
    train_model(opened(verb, &ranks), options);
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
  if (verb.folder.empty()) verb.folder = run_folder(verb.output);
  TrainModelOptions options = verb.typed();
  const std::unique_ptr<Ranks> ranks = Ranks::join();
  options.ranks = ranks.get();
  if (ranks && !ranks->is_first()) return run_beside(*ranks, verb, options);
  const TaskContext context{.progress = terminal_progress(), .warn = [](const std::string& line) {
                              std::fprintf(stderr, "%s\n", printable(line).c_str());
                            }};
  Report report(verb);
  context.tell("opening the model and the data");
  const Model model = opened(verb, ranks.get());
  const TrainedModel trained = train_model(model, options, context);
  Record record = view_of(trained, model, verb.output, save_trained(verb.output, trained, model));
  record.command = this_command();
  report.finish(record);
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
