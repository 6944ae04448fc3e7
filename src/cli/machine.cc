#include "jobs/machine.h"

#include "base/cache_folder.h"
#include "cli/flags.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct MachineVerb : DeviceFlags, ResultFlags {
  std::string cache;
  bool fresh = false;
  static std::span<const OptionField<MachineVerb>> fields();
};

constexpr OptionField<MachineVerb> kOwn[] = {
    flag("fresh", "Measure anew instead of showing what was measured since the machine started", &MachineVerb::fresh),
    flag("cache", "Folder that remembers the peaks (default: $HONE_CACHE or ~/.cache/hone)", &MachineVerb::cache,
         {.value = "FOLDER"})};

std::span<const OptionField<MachineVerb>> MachineVerb::fields() {
  static const auto all = joined_fields<MachineVerb>(DeviceFlags::fields().first(1), kOwn, ResultFlags::fields());
  return all;
}

int run(MachineVerb& verb) {
  verb.print(machine({.device = verb.asked_device(),
                      .cache_folder = verb.cache.empty() ? default_cache_folder() : std::optional(verb.cache),
                      .fresh = verb.fresh,
                      .command = this_command()}));
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
