#include "jobs/passes.h"
#include "cli/flags.h"
#include "cli/registry.h"

namespace hone {
namespace {

OutputFlags output;

void setup(CLI::App& app) { output.add_to(app); }

int run() {
  output.print(list_passes());
  return 0;
}

}  // namespace

extern constinit const VerbDef passes_verb_def{.name = "passes",
                                               .summary = "List every pass and its options",
                                               .examples = "  hone passes\n  hone passes --json",
                                               .setup = setup,
                                               .run = run};

}  // namespace hone
