#include "labs/run_lab.h"

#include <sys/wait.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/registry.h"
#include "base/text.h"
#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "jobs/child_process.h"
#include "jobs/probe.h"
#include "labs/registry.h"
#include "report/json.h"
#include "report/text.h"

namespace hone {
namespace {

struct LabVerb : ResultFlags {
  std::string lab, output, data = "build/labs", files = "examples/labs";
  bool quick = false;
  static std::span<const OptionField<LabVerb>> fields();
};

std::vector<std::string> lab_names() { return names_of(labs::all()); }

constexpr OptionField<LabVerb> kOwn[] = {
    required_flag("lab", "Which one", &LabVerb::lab, {.choices = lab_names, .is_positional = true}),
    flag("output",
         "Folder for the report, its figures and tables, and what each step found (default: lab-LAB); a lab that was "
         "stopped goes on there",
         &LabVerb::output, {.value = "FOLDER", .letter = 'o'}),
    flag("quick", "Two minutes instead of twenty: fewer points, trials and rows", &LabVerb::quick),
    flag("data", "Folder that scripts/deps.sh labs fills; what several labs share is kept there", &LabVerb::data,
         {.value = "FOLDER"}),
    flag("files", "Folder of the labs' TOML files", &LabVerb::files, {.value = "FOLDER"})};

std::span<const OptionField<LabVerb>> LabVerb::fields() {
  static const auto all = joined_fields<LabVerb>(kOwn, ResultFlags::fields());
  return all;
}

// Of what a run said, the line that says why it ended: notes stand before it, and how to get help behind it.
std::string error_in(const std::string& said) {
  for (const std::string& line : split(said, '\n'))
    if (line.starts_with("hone: ")) return line.substr(6);
  return said.empty() ? "it was killed" : std::string(trim(said));
}

// A command of hone in a process of its own.
VerbOutput run_verb(const std::vector<std::string>& words) {
  std::vector<std::string> command{this_program()};
  command.insert(command.end(), words.begin(), words.end());
  const ChildOutput child = run_child(command);
  if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 0) return {child.out, ""};
  return {child.out, error_in(child.errors)};
}

std::string notes() {
  std::string text = "Labs:\n";
  for (const LabDef* lab : labs::all()) text += fmt::format("  {}  {}\n", lab->name, lab->title);
  return text;
}

int run(LabVerb& verb) {
  if (verb.output.empty()) verb.output = "lab-" + verb.lab + (verb.quick ? "-quick" : "");
  const Record report = run_lab(labs::all(),
                                {.lab = verb.lab,
                                 .files = verb.files,
                                 .data = verb.data,
                                 .output = verb.output,
                                 .quick = verb.quick,
                                 .command = this_command()},
                                {.run_verb = run_verb, .progress = terminal_progress()});
  if (verb.json) print_json(json_text(report));
  else print_text(text(screen_of(report, verb.output), {.machine = false}));
  return 0;
}

constexpr Verb<LabVerb> kVerb{.name = "lab",
                              .task = VerbTask::measure,
                              .summary = "A lab of the course: its figures, tables and what to look at, by one command",
                              .examples =
                                  "  hone lab 0 --quick\n"
                                  "  hone lab 1 -o quantization",
                              .run = run,
                              .notes = notes};

}  // namespace

extern constinit const VerbDef lab_verb_def = verb_def<kVerb>();

}  // namespace hone
