// inputs: what a model takes, a line each.
#include <fmt/format.h>

#include "cli/flags.h"
#include "cli/verb.h"

namespace hone {
namespace {

int run(ModelFlags& verb) {
  const Graph graph = verb.load().graph;
  for (ValueId v : graph.inputs()) fmt::print("{} : {}\n", graph.value(v).label, to_string(graph.type(v)));
  return 0;
}

constexpr Verb<ModelFlags> kVerb{.name = "inputs",
                                 .summary = "List what a model takes",
                                 .examples = "  hone inputs model.onnx",
                                 .run = run,
                                 .inspects = true};

}  // namespace

extern constinit const VerbDef inputs_verb_def = verb_def<kVerb>();

}  // namespace hone
