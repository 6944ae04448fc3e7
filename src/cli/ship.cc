#include "views/ship.h"

#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>

#include "base/printable.h"
#include "base/shell.h"
#include "cli/flags.h"
#include "cli/new_process.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "report/html.h"

namespace hone {
namespace {

struct ShipVerb : ModelFlags, OutputFlags, ShipOptions, ResultFlags {
  std::string config;
  bool dry_run = false, verbose = false;
  static std::span<const OptionField<ShipVerb>> fields();
};

constexpr OptionField<ShipVerb> kOwn[] = {
    flag("config", "TOML file that ship wrote: makes the same file again, without a search; flags count before it",
         &ShipVerb::config, {.file = OptionFile::reads}),
    flag("dry-run", "Say what would be tried and how large each file would be, and write nothing", &ShipVerb::dry_run),
    flag("verbose", "Print the tables, too, which --report has", &ShipVerb::verbose, {.letter = 'v'})};

std::span<const OptionField<ShipVerb>> ShipVerb::fields() {
  static const auto all =
      joined_fields<ShipVerb>(ModelFlags::fields().first(2), OutputFlags::fields(), ShipOptions::fields(),
                              ResultFlags::report_fields(), kOwn, ResultFlags::fields());
  return all;
}

void show(const ShipVerb& verb, const Record& record) {
  if (verb.json || verb.verbose) verb.print(record);
  else print_text(verdict_text(record));
}

// Without the promises and the time, which the TOML has or a second making does not need.
NextCommand made_again(const ShipVerb& verb) {
  std::vector<std::string> words{"hone", "ship", std::filesystem::absolute(verb.model).lexically_normal()};
  if (!verb.inputs.empty()) words.insert(words.end(), {"--inputs", fmt::format("{}", fmt::join(verb.inputs, ","))});
  words.insert(words.end(),
               {"--config", std::filesystem::absolute(config_path(verb.output)).lexically_normal(), "-o", verb.output});
  return {"again", shell_line(words)};
}

int run(ShipVerb& verb) {
  RunFiles files = files_of(verb);
  if (!verb.again) files.writes("--output", config_path(verb.output));
  files.check();
  const ShipModelOptions options = verb.typed();
  const Model model = verb.load();
  const TaskContext context{
      .progress = terminal_progress(),
      .warn = [](const std::string& line) { std::fprintf(stderr, "%s\n", printable(line).c_str()); },
      .new_process = new_processes(verb.inputs, "")};
  if (verb.dry_run) {
    Record record = view_of(plan_ship(model, verb.output, options, context), model, verb.output);
    record.command = this_command();
    verb.print(record);
    return 0;
  }
  // A place that can't be written is known before the work, of which a kill leaves nothing there.
  if (!verb.report.empty()) AtomicFile{verb.report};
  Record record = view_of(ship(model, verb.output, options, context), model, verb.output);
  record.command = this_command();
  record.next.push_back(verb.again ? NextCommand{"again", this_command()} : made_again(verb));
  show(verb, record);
  if (!verb.report.empty()) write_file(verb.report, html(record));
  return 0;
}

constexpr Verb<ShipVerb> kVerb{
    .name = "ship",
    .task = VerbTask::compress,
    .summary =
        "One command to a smaller file that keeps what you promise, judged on rows that took no part in its choice",
    .examples =
        "  hone ship all-MiniLM-L6-v2 --data pairs.csv -o small.safetensors --report ship.html\n"
        "  hone ship classifier --data reviews.csv --metric f1 --max-drop 0.5% --time 5min -o small.safetensors\n"
        "  hone ship cnn.onnx --data test.npz --max-size 2MB --train -o small.onnx\n"
        "  hone ship classifier --data reviews.csv --max-latency 5ms --threads 2 -o small.safetensors\n"
        "  hone ship classifier --config small.toml -o again.safetensors",
    .run = run,
    .read_config = [](ShipVerb& verb) { read_ship_config(verb.config, verb); }};

}  // namespace

extern constinit const VerbDef ship_verb_def = verb_def<kVerb>();

}  // namespace hone
