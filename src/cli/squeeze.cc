#include "views/squeeze.h"

#include "cli/flags.h"
#include "cli/new_process.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "report/html.h"
#include "report/short_record.h"
#include "report/text.h"

namespace hone {
namespace {

struct SqueezeVerb : ModelFlags, OutputFlags, SqueezeOptions, ResultFlags {
  bool verbose = false;
  static std::span<const OptionField<SqueezeVerb>> fields();
};

constexpr OptionField<SqueezeVerb> kVerbose[] = {
    flag("verbose", "Print all rows of long tables", &SqueezeVerb::verbose, {.letter = 'v'})};

std::span<const OptionField<SqueezeVerb>> SqueezeVerb::fields() {
  static const auto all =
      joined_fields<SqueezeVerb>(ModelFlags::fields().first(2), OutputFlags::fields(), ResultFlags::report_fields(),
                                 SqueezeOptions::fields(), kVerbose, ResultFlags::fields());
  return all;
}

constexpr ShortTable kShort[] = {{"tensors", "sqnr_db"}, {"counts", "saturated", true}};

void show(const SqueezeVerb& verb, const Record& record) {
  if (verb.json || verb.verbose) verb.print(record);
  else print_text(text(shortened(record, kShort, "-v or --report")));
}

int run(SqueezeVerb& verb) {
  verb.check();
  files_of(verb).check();
  std::optional<AtomicFile> report;  // opened first: a place that can't be written is known before the work
  if (!verb.report.empty()) report.emplace(verb.report);
  const SqueezeModelOptions options = verb.typed();
  const Model model = verb.load();
  const TaskContext context{.progress = terminal_progress(), .new_process = new_processes(verb.inputs, "")};
  Record record = view_of(squeeze(model, verb.output, options, context), model, verb.output);
  record.command = this_command();
  if (const auto over = over_plan(verb.plan, verb.output, record.manifest[1].bytes)) record.findings.push_back(*over);
  show(verb, record);
  if (report) report->write(html(record)), report->commit();
  return 0;
}

constexpr Verb<SqueezeVerb> kVerb{
    .name = "squeeze",
    .task = VerbTask::compress,
    .summary = "Quantize a model, then measure the written file against the original: size, memory, speed, outputs",
    .examples =
        "  hone squeeze all-MiniLM-L6-v2 --to mxint8 -o small.safetensors --report small.html\n"
        "  hone squeeze all-MiniLM-L6-v2 --to mxint4 --rule op:gather=mxint8 --text-file mine.txt -o "
        "mixed.safetensors\n"
        "  hone squeeze all-MiniLM-L6-v2 --to int4.g32 --method gptq --calib texts.txt -o small.safetensors\n"
        "  hone squeeze classifier --to int8 --data reviews.csv --metric f1 --max-drop 0.5% -o small.safetensors",
    .run = run,
    .read_config = [](SqueezeVerb& verb) { verb.read_config_file(); }};

}  // namespace

extern constinit const VerbDef squeeze_verb_def = verb_def<kVerb>();

}  // namespace hone
