#include "ops/calls/cast.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

Graph remove_dropout(Graph graph, const PassContext&) {
  for (const OpDef* op : {&dropout_def, &identity_def})
    for (NodeId id : graph.nodes(*op)) replace_by_value(graph, id, graph.operand(id, 0));
  return graph;
}

}  // namespace

extern constinit const PassDef remove_dropout_def{
    .name = "remove_dropout",
    .doc = "Nodes that hand their operand on in inference (dropout, identity) go.",
    .run = remove_dropout};

}  // namespace hone
