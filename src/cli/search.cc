#include "nas/search_options.h"

#include <cstdio>
#include <filesystem>

#include "base/printable.h"
#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "nas/search_figures.h"
#include "nas/trial_plan.h"
#include "views/search.h"

namespace hone {
namespace {

struct SearchVerb : SearchFlags, ResultFlags {
  static std::span<const OptionField<SearchVerb>> fields() {
    static const auto all =
        joined_fields<SearchVerb>(SearchFlags::fields(), ResultFlags::report_fields(), ResultFlags::fields());
    return all;
  }
};

std::string notes() {
  return "Parameters, and tables of what all candidates share:\n" + knobs_text() + "Figures, beside metrics:\n" +
         figures_text();
}

int run(SearchVerb& verb) {
  RunFiles files = files_of(verb);
  if (std::filesystem::exists(verb.model)) files.reads("MODEL", verb.model);
  if (verb.output.ends_with(".safetensors")) files.writes("--output", verb.output);
  files.check();
  const SearchModelOptions options = verb.typed();
  const TaskContext context{.progress = terminal_progress(), .warn = [](const std::string& line) {
                              std::fprintf(stderr, "%s\n", printable(line).c_str());
                            }};
  Report report(verb);
  report.finish(verb.rebuild ? view_of(rebuild_trial(options, *verb.rebuild, context), this_command())
                             : view_of(search_model(options, context), this_command()));
  return 0;
}

constexpr Verb<SearchVerb> kVerb{
    .name = "search",
    .task = VerbTask::train,
    .summary = "Search architectures, training, pruning and number formats by studies that can be gone on with",
    .examples =
        "  hone search cnn.safetensors --data images --space formats.toml --objective accuracy,bits --trials 50 "
        "--storage study.db -o front\n"
        "  hone search resnet18.safetensors --data images --space formats.toml --objective 'accuracy - 0.02*bits' "
        "--budget 'bytes<=12MB' -o best.safetensors\n"
        "  hone search --config examples/labs/lab2/nas.toml --storage nas.db --workers 2 --report nas.html\n"
        "  hone search --config examples/labs/lab2/nas.toml --storage nas.db --study tpe --rebuild 7 -o "
        "best.safetensors",
    .run = run,
    .notes = notes};

}  // namespace

extern constinit const VerbDef search_verb_def = verb_def<kVerb>();

}  // namespace hone
