#include "views/prune.h"

#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "jobs/mase_config.h"
#include "prune/registry.h"

namespace hone {
namespace {

struct PruneVerb : ModelFlags, PruneFlags, OutputFlags, ResultFlags {
  GivenOptions given;
  std::string mase_config;
  std::optional<double> seconds;
  static std::span<const OptionField<PruneVerb>> fields();
};

constexpr OptionField<PruneVerb> kOwn[] = {
    flag("mase-config", "TOML file of MASE: sparsity, method and scope of its pass prune; flags win",
         &PruneVerb::mase_config, {.file = OptionFile::reads}),
    flag("seconds", "Measure the original and what is written beside each other for so long (default: not)",
         &PruneVerb::seconds, {.least = kLeastSeconds, .most = kMostSeconds})};

std::span<const OptionField<PruneVerb>> PruneVerb::fields() {
  static const auto all = joined_fields<PruneVerb>(ModelFlags::fields(), PruneFlags::own_fields(), kOwn,
                                                   OutputFlags::fields(), RunFlags::fields(), ResultFlags::fields());
  return all;
}

std::string methods_text() {
  std::string text = "Methods:\n";
  for (const ScoreDef* def : prune::all()) text += fmt::format("  {:10} {}\n", def->name, def->doc);
  return text;
}

// What flags leave as it is.
std::vector<std::string> take_mase_config(PruneVerb& verb, const Model& model) {
  if (verb.mase_config.empty()) return {};
  const auto [found, notes] = mase_pruning(model, verb.mase_config);
  if (verb.given["sparsity"].empty()) verb.sparsity = found.sparsity;
  if (verb.given["method"].empty()) verb.method = found.method;
  if (verb.given["scope"].empty()) verb.scope = found.scope;
  verb.skip.insert(verb.skip.end(), found.skip.begin(), found.skip.end());
  return notes;
}

int run(PruneVerb& verb) {
  files_of(verb).check();
  const Model model = verb.load();
  const std::vector<std::string> notes = take_mase_config(verb, model);
  const PruneModelOptions options = verb.typed();
  check_storage(options, verb.output);
  const TaskContext context{.progress = terminal_progress()};
  const PrunedModel pruned = prune_model(model, options, context);
  const SavedModel saved = save_pruned(verb.output, pruned, model);
  std::optional<BenchResult> measured;
  if (verb.seconds) {
    TimeModelsOptions times;
    times.open.session = options.data.session;
    times.seconds = *verb.seconds;
    measured = time_models(std::vector{model, load_model(verb.output)}, times, context);
  }
  Record record = view_of(pruned, model, verb.output, saved, measured);
  record.findings.insert(record.findings.end(), notes.begin(), notes.end());
  record.command = this_command();
  verb.print(record);
  return 0;
}

constexpr Verb<PruneVerb> kVerb{
    .name = "prune",
    .task = VerbTask::compress,
    .summary = "Take out the weights, channels, heads or layers that are worth least",
    .examples =
        "  hone prune all-MiniLM-L6-v2 --sparsity 0.5 --store sparse --seconds 10 -o sparse.safetensors\n"
        "  hone prune classifier.safetensors --structure 2:4 --method wanda --data reviews.csv -o sparse.safetensors\n"
        "  hone prune classifier.safetensors --structure heads --sparsity 0.25 -o smaller.safetensors\n"
        "  hone prune resnet18.onnx --structure channels --scope global --sparsity 0.3 -o smaller.safetensors\n"
        "  hone prune classifier.safetensors --sparsity 0.8 --schedule gradual --stages 4 --data reviews.csv "
        "--train-config train.toml -o sparse.safetensors",
    .run = run,
    .notes = methods_text};

}  // namespace

extern constinit const VerbDef prune_verb_def = verb_def<kVerb>();

}  // namespace hone
