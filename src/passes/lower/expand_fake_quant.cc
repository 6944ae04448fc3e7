// fake_quant in a format without scales, or by a scale that is given, is element by element, so that it can run inside
// other kernels.
#include "formats/element_rounding.h"
#include "gradients/scale_groups.h"
#include "ops/calls/fake_quant.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

// With scales that are operands.
ValueId rounded_by_scale(Graph& graph, const Node& node, const Format& format) {
  const auto spread = [&](size_t operand) {
    const bool is_given = operand < node.operands.size() && node.operands[operand] != kNone;
    return is_given ? spread_over_groups(graph, node.operands[operand], format, graph.type(node.operands[0]).shape)
                    : kNone;
  };
  const ValueId scale = spread(1), zero_point = spread(2);
  return ops::round_scaled(graph, {.x = node.operands[0], .scale = scale, .zero_point = zero_point, .format = format});
}

Graph expand_fake_quant(Graph graph, const PassContext&) {
  for (NodeId n : graph.nodes(fake_quant_def)) {
    const Node node = graph.node(n);
    const Format format = node.attributes.get<Format>("format");
    const bool is_given = node.operands.size() > 1 && node.operands[1] != kNone;
    if (!is_given && !rounds_elements(format)) continue;
    if (is_given && !graph.type(node.operands[0]).ranked) continue;  // where its groups lie, only a run knows
    graph.set_insertion_point(n);
    const ValueId rounded = is_given ? rounded_by_scale(graph, node, format)
                                     : ops::round_to(graph, {.x = node.operands[0], .format = format});
    graph.set_insertion_point(kNone);
    replace_by_value(graph, n, rounded);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef expand_fake_quant_def{
    .name = "expand_fake_quant",
    .doc =
        "fake_quant in a format without scales becomes round_to, and with a scale that is given round_scaled, which "
        "fuse like any other pointwise op.",
    .run = expand_fake_quant};

}  // namespace hone
