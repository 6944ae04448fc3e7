#include "jobs/machine.h"

#include "base/cache_folder.h"
#include "cli/flags.h"
#include "cli/registry.h"

namespace hone {
namespace {

struct {
  std::string cache, device;
  bool fresh = false;
  OutputFlags output;
} flags;

void setup(CLI::App& app) {
  add_device_to(app, flags.device);
  app.add_flag("--fresh", flags.fresh, "Measure anew instead of showing what was measured since the machine started");
  app.add_option("--cache", flags.cache, "Folder that remembers the peaks (default: $HONE_CACHE or ~/.cache/hone)");
  flags.output.add_to(app);
}

int run() {
  flags.output.print(machine({.device = device_of(flags.device, ""),
                              .cache_folder = flags.cache.empty() ? default_cache_folder() : std::optional(flags.cache),
                              .fresh = flags.fresh,
                              .command = this_command()}));
  return 0;
}

}  // namespace

extern constinit const VerbDef machine_verb_def{
    .name = "machine",
    .summary =
        "Measure what this machine can reach: arithmetic, caches and memory, two threads; what profiles compare with",
    .examples = "  hone machine\n  hone machine --fresh --json\n  hone machine --device cuda",
    .setup = setup,
    .run = run};

}  // namespace hone
