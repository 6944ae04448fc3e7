#include "views/prune.h"

#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "prune/registry.h"

namespace hone {
namespace {

struct PruneVerb : ModelFlags, PruneFlags, OutputFlags, ResultFlags {
  std::optional<double> seconds;
  static std::span<const OptionField<PruneVerb>> fields();
};

constexpr OptionField<PruneVerb> kSeconds[] = {
    flag("seconds", "Measure the original and what is written beside each other for so long (default: not)",
         &PruneVerb::seconds, {.least = kLeastSeconds, .most = kMostSeconds})};

std::span<const OptionField<PruneVerb>> PruneVerb::fields() {
  static const auto all = joined_fields<PruneVerb>(ModelFlags::fields(), PruneFlags::own_fields(), kSeconds,
                                                   OutputFlags::fields(), RunFlags::fields(), ResultFlags::fields());
  return all;
}

std::string methods_text() {
  std::string text = "Methods:\n";
  for (const ScoreDef* def : prune::all()) text += fmt::format("  {:10} {}\n", def->name, def->doc);
  return text;
}

int run(PruneVerb& verb) {
  files_of(verb).check();
  const PruneModelOptions options = verb.typed();
  const Model model = verb.load();
  check_storage(options, verb.output);
  const TaskContext context{.progress = terminal_progress()};
  const PrunedModel pruned = prune_model(model, options, context);
  const SavedModel saved = save_pruned(verb.output, pruned, model);
  std::optional<BenchResult> measured;
  if (verb.seconds)
    measured = time_models(std::vector{model, load_model(verb.output)},
                           {.open = {.session = options.data.session}, .seconds = *verb.seconds}, context);
  Record record = view_of(pruned, model, verb.output, saved, measured);
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
