#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "jobs/studies.h"

namespace hone {
namespace {

struct {
  std::string action, storage, output;
  std::vector<std::string> names;
  OutputFlags result;
} flags;

void setup(CLI::App& app) {
  app.add_option(
         "ACTION", flags.action,
         "list: all studies; show: one, with its parameters and history; best: the best trial, or the front of several "
         "objectives; export: trials as CSV; compare: studies side by side; delete")
      ->required()
      ->check(CLI::IsMember({"list", "show", "best", "export", "compare", "delete"}));
  app.add_option("STORAGE", flags.storage, "A SQLite file (study.db) or a journal (study.log), of hone or of Optuna")
      ->required();
  app.add_option("NAME", flags.names, "Studies; where a file holds one, none need be named, but to delete it");
  app.add_option("-o,--output", flags.output, "Of export: the .csv file to write; otherwise to standard output");
  flags.result.add_to(app);
  flags.result.add_report_to(app);
}

int run() {
  const bool exports = flags.action == "export";
  if (!exports && !flags.output.empty()) fail("--output is for export; a page of the others is --report FILE.html");
  if (exports && (flags.result.json || !flags.result.report.empty()))
    fail("export writes CSV; --json and --report are for show and best");
  if (flags.names.size() > 1 && flags.action != "compare" && flags.action != "delete")
    fail("{} takes one study, found {}", flags.action, flags.names.size());
  if (flags.action == "list" && !flags.names.empty()) fail("list takes no study; show does");
  RunFiles files;
  files.reads("STORAGE", flags.storage.find(':') == flags.storage.npos ? flags.storage : "");
  files.writes("--output", flags.output).writes("--report", flags.result.report).check();
  const StudiesOptions options{flags.storage, flags.names, this_command()};
  if (exports) {
    const std::string csv = study_csv(options);
    if (flags.output.empty()) print_text(csv);
    else write_file(flags.output, csv);
    return 0;
  }
  Report report(flags.result);
  report.finish(flags.action == "list"      ? list_studies(options)
                : flags.action == "show"    ? show_study(options)
                : flags.action == "best"    ? best_trials(options)
                : flags.action == "compare" ? compare_studies(options)
                                            : delete_studies(options));
  return 0;
}

}  // namespace

extern constinit const VerbDef study_verb_def{
    .name = "study",
    .summary = "Studies of searches, of hone or Optuna: list, show, best, export, compare, delete",
    .examples =
        "  hone study list study.db\n"
        "  hone study show study.db resnet --report resnet.html\n"
        "  hone study export study.db resnet -o trials.csv\n"
        "  hone study compare study.db random tpe\n"
        "  hone study delete study.db random",
    .setup = setup,
    .run = run};

}  // namespace hone
