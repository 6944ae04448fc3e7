#include "base/registry.h"
#include "base/text.h"
#include "ir/text.h"
#include "ops/registry.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

struct EraseOptions {
  std::string op = "dropout";
  bool reroute = true;
  static constexpr const char* kPass = "erase_nodes";
  static std::span<const OptionField<EraseOptions>> fields();
};

constexpr OptionField<EraseOptions> kFields[] = {
    {"op", "which op's nodes go", &EraseOptions::op},
    {"reroute", "what reads them reads their first operand instead; else they must have no users",
     &EraseOptions::reroute},
};
std::span<const OptionField<EraseOptions>> EraseOptions::fields() { return kFields; }

// What users of the node may read in its place.
ValueId handed_on(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId first = node.operands.empty() ? kNone : node.operands[0];
  if (first == kNone || node.results.size() != 1 || graph.type(first) != graph.type(node.results[0]))
    fail("erase_nodes: its first operand has not the type of its result, so users can't read it instead: {}",
         print_node(graph, id));
  return first;
}

Graph erase_nodes(Graph graph, const PassContext&, const EraseOptions& options) {
  const OpDef* op = find_def(ops::all(), options.op);
  if (!op) fail("erase_nodes.op: no op \"{}\"{}", options.op, did_you_mean(options.op, names_of(ops::all())));
  for (NodeId id : graph.nodes(*op)) {
    if (options.reroute) replace_by_value(graph, id, handed_on(graph, id));
    else graph.erase(id);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef erase_nodes_def{
    .name = "erase_nodes",
    .doc = "Nodes of one op go. It changes what is computed, unless they hand their operand on.",
    .run = with_options<erase_nodes>};

}  // namespace hone
