#include "base/atomic_file.h"
#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "report/dot_svg.h"
#include "report/graph_dot.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  std::string output;
  bool every_layer = false;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  app.add_option("-o,--output", flags.output, "File to write: .svg (drawn by Graphviz) or .dot")->required();
  app.add_flag("--every-layer", flags.every_layer, "Draw repeated layers one by one instead of once");
}

int run() {
  const bool svg = flags.output.ends_with(".svg");
  if (!svg && !flags.output.ends_with(".dot")) fail("{}: the name must end in .svg or .dot", flags.output);
  RunFiles().reads("MODEL", flags.model.model).writes("--output", flags.output).check();
  const std::string dot = to_dot(flags.model.load().graph, {.fold_repeats = !flags.every_layer});
  write_file(flags.output, svg ? "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + dot_svg(dot) + "\n" : dot);
  return 0;
}

}  // namespace

extern constinit const VerbDef draw_verb_def{
    .name = "draw",
    .summary = "Draw a model's graph",
    .examples = "  hone draw all-MiniLM-L6-v2 -o graph.svg\n  hone draw folder --inputs input_ids -o graph.dot",
    .setup = setup,
    .run = run,
    .inspects = true};

}  // namespace hone
