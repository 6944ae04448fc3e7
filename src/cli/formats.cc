#include "jobs/formats.h"
#include "cli/flags.h"
#include "cli/registry.h"

namespace hone {
namespace {

struct {
  OutputFlags output;
  uint64_t seed = 1;
} flags;

void setup(CLI::App& app) {
  app.add_option("--seed", flags.seed, "Of the normal values that SQNR is measured on")->capture_default_str();
  flags.output.add_to(app);
}

int run() {
  flags.output.print(list_formats(flags.seed));
  return 0;
}

}  // namespace

extern constinit const VerbDef formats_verb_def{
    .name = "formats",
    .summary = "List every number format with its cost, range and measured precision",
    .examples = "  hone formats\n  hone formats --json",
    .setup = setup,
    .run = run};

}  // namespace hone
