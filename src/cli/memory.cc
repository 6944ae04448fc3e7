#include "jobs/memory.h"

#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "jobs/probe.h"

namespace hone {
namespace {

struct MemoryVerb : ModelFlags, ShapeFlags, RunFlags, ResultFlags {
  std::vector<std::string> to, skip;
  static std::span<const OptionField<MemoryVerb>> fields();
};

constexpr OptionField<MemoryVerb> kOwn[] = {
    flag("to", "Formats, each tried on the layers alone and on layers and tables (default: mxint8,mxint4,mxfp4)",
         &MemoryVerb::to, {.has_commas = true, .takes_several = true}),
    flag("skip", "Regular expression on names of weights that are kept (repeatable)", &MemoryVerb::skip)};

std::span<const OptionField<MemoryVerb>> MemoryVerb::fields() {
  static const auto all = joined_fields<MemoryVerb>(ModelFlags::fields().first(2), kOwn, ResultFlags::report_fields(),
                                                    ShapeFlags::fields(), RunFlags::fields(), RunFlags::trust_fields(),
                                                    RunFlags::compute_fields(), ResultFlags::fields());
  return all;
}

int run(MemoryVerb& verb) {
  files_of(verb).check();
  Report report(verb);
  report.finish(memory({.model = verb.model,
                        .inputs = verb.inputs,
                        .to = verb.to.empty() ? std::vector<std::string>{"mxint8", "mxint4", "mxfp4"} : verb.to,
                        .skip = verb.skip,
                        .shapes = verb.shapes(),
                        .session = verb.session_options(),
                        .program = this_program(),
                        .command = this_command(),
                        .progress = terminal_progress()}));
  return 0;
}

constexpr Verb<MemoryVerb> kVerb{
    .name = "memory",
    .task = VerbTask::measure,
    .summary = "What packing saves of a model's memory, stored and running, and where the rest goes",
    .examples =
        "  hone build deberta-xlarge -o deberta.safetensors\n"
        "  hone memory deberta.safetensors --skip classifier --seq 9 --report memory.html",
    .run = run};

}  // namespace

extern constinit const VerbDef memory_verb_def = verb_def<kVerb>();

}  // namespace hone
