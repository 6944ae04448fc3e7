// inputs: what a model takes, a line each.
#include <fmt/format.h>

#include "cli/flags.h"
#include "cli/registry.h"

namespace hone {
namespace {

ModelFlags model;

int run() {
  const Graph graph = model.load().graph;
  for (ValueId v : graph.inputs()) fmt::print("{} : {}\n", graph.value(v).label, to_string(graph.type(v)));
  return 0;
}

}  // namespace

extern constinit const VerbDef inputs_verb_def{.name = "inputs",
                                               .summary = "List what a model takes",
                                               .examples = "  hone inputs model.onnx",
                                               .setup = [](CLI::App& app) { model.add_to(app); },
                                               .run = run,
                                               .inspects = true};

}  // namespace hone
