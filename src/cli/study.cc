#include "views/study.h"
#include "base/atomic_file.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/flags.h"
#include "cli/verb.h"
#include "views/study_csv.h"

namespace hone {
namespace {

struct StudyVerb : ResultFlags {
  std::string action, storage, output;
  std::vector<std::string> names;
  static std::span<const OptionField<StudyVerb>> fields();
};

std::vector<std::string> actions() { return {"list", "show", "best", "export", "compare", "delete"}; }

constexpr OptionField<StudyVerb> kOwn[] = {
    required_flag("action",
                  "list: all studies; show: one, with its parameters and history; best: the best trial, or the front "
                  "of several objectives; export: trials as CSV; compare: studies side by side; delete",
                  &StudyVerb::action, {.choices = actions, .is_positional = true}),
    required_flag("storage", "A SQLite file (study.db) or a journal (study.log), of hone or of Optuna",
                  &StudyVerb::storage, {.is_positional = true}),
    flag("name", "Studies; where a file holds one, none need be named, but to delete it", &StudyVerb::names,
         {.is_positional = true}),
    flag("output", "With export: the .csv file to write (default: standard output)", &StudyVerb::output,
         {.file = OptionFile::writes, .letter = 'o'})};

std::span<const OptionField<StudyVerb>> StudyVerb::fields() {
  static const auto all = joined_fields<StudyVerb>(kOwn, ResultFlags::fields(), ResultFlags::report_fields());
  return all;
}

void check(const StudyVerb& verb) {
  const bool exports = verb.action == "export";
  if (!exports && !verb.output.empty()) fail("--output is for export; a page of the others is --report FILE.html");
  if (exports && (verb.json || !verb.report.empty()))
    fail("export writes CSV; --json and --report are for show and best");
  if (verb.names.size() > 1 && verb.action != "compare" && verb.action != "delete")
    fail("{} takes one study, found {}", verb.action, verb.names.size());
  if (verb.action == "list" && !verb.names.empty()) fail("list takes no study; show does");
}

void export_csv(const OpenedStudy& study, const std::string& output) {
  for (const std::string& note : rounding_notes(study)) log(LogLevel::warning, note);
  if (output.empty()) print_text(csv_of(study));
  else write_file(output, csv_of(study));
}

Record record_of(const std::string& action, const StudiesOptions& options) {
  const std::string command = this_command();
  if (action == "list") return view_of(list_studies(options), command);
  if (action == "show") return view_of(open_study(options), command);
  if (action == "best") return view_of(best_trials(options), command);
  if (action == "compare") return view_of(compare_studies(options), command);
  return view_of(delete_studies(options), command);
}

int run(StudyVerb& verb) {
  check(verb);
  RunFiles files = files_of(verb);
  files.reads("STORAGE", verb.storage.find(':') == verb.storage.npos ? verb.storage : "").check();
  const StudiesOptions options{verb.storage, verb.names};
  if (verb.action == "export") {
    export_csv(open_study(options), verb.output);
    return 0;
  }
  Report report(verb);
  report.finish(record_of(verb.action, options));
  return 0;
}

constexpr Verb<StudyVerb> kVerb{
    .name = "study",
    .task = VerbTask::train,
    .summary = "Studies of searches, of hone or Optuna: list, show, best, export, compare, delete",
    .examples =
        "  hone study list study.db\n"
        "  hone study show study.db resnet --report resnet.html\n"
        "  hone study export study.db resnet -o trials.csv\n"
        "  hone study compare study.db random tpe\n"
        "  hone study delete study.db random",
    .run = run};

}  // namespace

extern constinit const VerbDef study_verb_def = verb_def<kVerb>();

}  // namespace hone
