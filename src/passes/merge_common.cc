// Common subexpressions: equal ops on equal operands with equal attributes, and anonymous constants of equal contents.
#include <algorithm>
#include <map>

#include "base/hash.h"
#include "ir/minted.h"
#include "passes/pass.h"

namespace hone {
namespace {

// Constants with a label keep it: rules name them, files list them.
void merge_constants(Graph& graph) {
  std::multimap<uint64_t, ValueId> seen;
  for (ValueId id : graph.constants()) {
    const Tensor& tensor = *graph.constant(id);
    if (!graph.value(id).label.empty() || tensor.is_packed() || tensor.dtype() == DType::string ||
        tensor.container() != Container::none)
      continue;
    const uint64_t hash = hash_bytes(tensor.data().bytes(), static_cast<uint64_t>(tensor.dtype()));
    bool merged = false;
    for (auto [other, end] = seen.equal_range(hash); other != end && !merged; ++other) {
      if (!graph.constant(other->second)->same_bits(tensor)) continue;
      graph.replace_all_uses(id, other->second);
      merged = true;
    }
    if (!merged) seen.emplace(hash, id);
  }
  graph.erase_unused_constants();
}

// A size that depends on data keeps the symbol that the node gave it.
bool names_a_size(const Graph& graph, const Node& node) {
  return std::any_of(node.results.begin(), node.results.end(),
                     [&](ValueId v) { return depends_on_data(graph.type(v).shape); });
}

Graph merge_common(Graph graph, const PassContext&) {
  merge_constants(graph);
  std::map<std::pair<const OpDef*, std::vector<ValueId>>, std::vector<NodeId>> seen;
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (!node.subgraphs.empty() || names_a_size(graph, node)) continue;
    std::vector<NodeId>& alike = seen[{node.op, node.operands}];
    NodeId first = kNone;
    for (NodeId other : alike)
      if (graph.node(other).attributes.same(node.attributes)) first = other;
    if (first == kNone) {
      alike.push_back(id);
      continue;
    }
    const std::vector<ValueId> from = node.results, to = graph.node(first).results;
    for (size_t i = 0; i < from.size(); ++i) graph.replace_all_uses(from[i], to[i]);
    graph.erase(id);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef merge_common_def{
    .name = "merge_common",
    .doc = "Nodes that compute the same from the same become one; so do anonymous constants of the same bits.",
    .run = merge_common};

}  // namespace hone
