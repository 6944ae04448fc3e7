// fake_quant in a format without scales is element by element, so that it can run inside other kernels.
#include "formats/element_rounding.h"
#include "ops/calls.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

Graph expand_fake_quant(Graph graph, const PassContext&) {
  for (NodeId n : graph.nodes(fake_quant_def)) {
    const Format format = graph.node(n).attributes.get<Format>("format");
    if (!rounds_elements(format)) continue;
    graph.set_insertion_point(n);
    const ValueId rounded = ops::round_to(graph, {.x = graph.operand(n, 0), .format = format});
    graph.set_insertion_point(kNone);
    replace_by_value(graph, n, rounded);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef expand_fake_quant_def{
    .name = "expand_fake_quant",
    .doc = "fake_quant in a format without scales becomes round_to, which fuses like any other pointwise op.",
    .run = expand_fake_quant};

}  // namespace hone
