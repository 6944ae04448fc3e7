#include "views/machine.h"

#include "cli/flags.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct MachineVerb : MachineOptions, ResultFlags {
  static std::span<const OptionField<MachineVerb>> fields() {
    static const auto all = joined_fields<MachineVerb>(MachineOptions::fields(), ResultFlags::fields());
    return all;
  }
};

int run(MachineVerb& verb) {
  Record record = view_of(machine(verb));
  record.command = this_command();
  verb.print(record);
  return 0;
}

constexpr Verb<MachineVerb> kVerb{
    .name = "machine",
    .task = VerbTask::measure,
    .summary =
        "Measure what this machine can reach: arithmetic, caches and memory, two threads; what profiles compare with",
    .examples = "  hone machine\n  hone machine --fresh --json\n  hone machine --device cuda",
    .run = run};

}  // namespace

extern constinit const VerbDef machine_verb_def = verb_def<kVerb>();

}  // namespace hone
