// Two negations, one of the other, are none.
#include "ops/calls/arithmetic.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

Graph cancel_negations(Graph graph, const PassContext&) {
  for (NodeId id : graph.nodes(neg_def)) {
    const NodeId inner = produced_by(graph, graph.operand(id, 0), neg_def);
    if (inner != kNone) replace_by_value(graph, id, graph.operand(inner, 0));
  }
  return graph;
}

}  // namespace

extern constinit const PassDef cancel_negations_def{
    .name = "cancel_negations", .doc = "The negation of a negation becomes what was negated.", .run = cancel_negations};

}  // namespace hone
