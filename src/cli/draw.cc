#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/log.h"
#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "report/graph_dot.h"
#include "report/graph_drawing.h"

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
  const LoadedModel model = flags.model.load();
  const DotOptions options{.fold_repeats = !flags.every_layer};
  if (!svg) {
    write_file(flags.output, to_dot(model.graph, options));
    return 0;
  }
  const DrawnGraph drawn = draw_graph(model.graph, options);
  write_file(flags.output, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + drawn.svg + "\n");
  if (!drawn.note.empty()) log(LogLevel::note, fmt::format("{}: {}", flags.output, drawn.note));
  return 0;
}

}  // namespace

extern constinit const VerbDef draw_verb_def{
    .name = "draw",
    .summary = "Draw a model's graph; one of thousands of nodes in blocks, as SVG",
    .examples = "  hone draw all-MiniLM-L6-v2 -o graph.svg\n  hone draw folder --inputs input_ids -o graph.dot",
    .setup = setup,
    .run = run,
    .inspects = true};

}  // namespace hone
