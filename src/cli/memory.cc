#include "views/memory.h"

#include "cli/flags.h"
#include "cli/new_process.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct MemoryVerb : ModelFlags, MemoryOptions, ResultFlags {
  static std::span<const OptionField<MemoryVerb>> fields();
};

std::span<const OptionField<MemoryVerb>> MemoryVerb::fields() {
  static const auto all = joined_fields<MemoryVerb>(
      ModelFlags::fields(), MemoryOptions::own_fields(), ResultFlags::report_fields(), ShapeFlags::fields(),
      RunFlags::fields(), RunFlags::trust_fields(), RunFlags::compute_fields(), ResultFlags::fields());
  return all;
}

int run(MemoryVerb& verb) {
  files_of(verb).check();
  Report report(verb);
  Record record =
      view_of(memory(verb.load(), verb,
                     {.progress = terminal_progress(), .new_process = new_processes(verb.inputs, verb.model_format)}));
  record.command = this_command();
  report.finish(record);
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
