#include "jobs/info.h"
#include "cli/flags.h"
#include "cli/registry.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  ShapeFlags shapes;
  OutputFlags output;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  flags.shapes.add_to(app);
  flags.output.add_to(app);
}

int run() {
  flags.output.print(info(flags.model.load(), flags.shapes.get()));
  return 0;
}

}  // namespace

extern constinit const VerbDef info_verb_def{
    .name = "info",
    .summary = "Show what is in a model: inputs, ops, parameters, formats, bytes, FLOP",
    .examples = "  hone info all-MiniLM-L6-v2\n  hone info small.safetensors --seq 64 --json",
    .setup = setup,
    .run = run,
    .inspects = true};

}  // namespace hone
