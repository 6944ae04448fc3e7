#include "views/profile.h"

#include <optional>

#include "base/atomic_file.h"
#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct ProfileVerb : ModelsFlags, ProfileOptions, ResultFlags {
  std::string trace;
  static std::span<const OptionField<ProfileVerb>> fields();
};

constexpr OptionField<ModelsFlags> kModels[] = {required_flag("model", "A folder or file; two are shown side by side",
                                                              &ModelsFlags::model,
                                                              {.file = OptionFile::reads, .is_positional = true})};
constexpr OptionField<ProfileVerb> kOwn[] = {flag("trace",
                                                  "JSON file to write, for chrome://tracing or ui.perfetto.dev",
                                                  &ProfileVerb::trace, {.file = OptionFile::writes})};

std::span<const OptionField<ProfileVerb>> ProfileVerb::fields() {
  static const auto all =
      joined_fields<ProfileVerb>(kModels, ModelsFlags::fields().subspan(1), ProfileOptions::own_fields(), kOwn,
                                 ResultFlags::report_fields(), CheckFiniteFlags::fields(), ResultFlags::fields());
  return all;
}

int run(ProfileVerb& verb) {
  if (verb.model.size() > 2) refuse_usage(fmt::format("MODEL: one or two are shown, found {}", verb.model.size()));
  files_of(verb).check();
  std::optional<AtomicFile> trace;  // opened first, as the report is
  if (!verb.trace.empty()) trace.emplace(verb.trace);
  Report report(verb);
  const ProfileModelsOptions options = verb.profiling();
  const ProfileResult result = profile_models(verb.load(), options, {.progress = terminal_progress()});
  Record record = view_of(result);
  record.command = this_command();
  report.finish(record);
  if (trace) trace->write(trace_of(result)), trace->commit();
  return 0;
}

constexpr Verb<ProfileVerb> kVerb{
    .name = "profile",
    .task = VerbTask::measure,
    .summary = "Show where a model's time goes, step by step, against what this machine can do, and why not faster",
    .examples =
        "  hone profile all-MiniLM-L6-v2 --seq 128\n"
        "  hone profile small.safetensors --trace run.json --report profile.html\n"
        "  hone profile all-MiniLM-L6-v2 small.safetensors",
    .run = run};

}  // namespace

extern constinit const VerbDef profile_verb_def = verb_def<kVerb>();

}  // namespace hone
