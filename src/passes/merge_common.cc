// Common subexpressions: equal ops on equal operands with equal attributes, and anonymous constants of equal contents.
#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/stop.h"
#include "ir/unbacked.h"
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
    check_stop();
    const std::vector<int64_t>& shape = tensor.shape();
    const uint64_t kind = hash_bytes(std::as_bytes(std::span(shape)), static_cast<uint64_t>(tensor.dtype()));
    const uint64_t hash = hash_bytes(tensor.data().bytes(), kind);
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

// Equal for equal attributes, and seldom for others: with them thousands of nodes on one operand are told apart.
uint64_t fingerprint(const Attributes& attributes) {
  uint64_t hash = 0;
  for (const auto& [name, value] : attributes.items()) {
    hash = hash_text(name, hash);
    if (const auto* integer = std::get_if<int64_t>(&value)) hash = hash_text(std::to_string(*integer), hash);
    if (const auto* text = std::get_if<std::string>(&value)) hash = hash_text(*text, hash);
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
      hash = hash_bytes(std::as_bytes(std::span(*list)), hash);
    if (const auto* dim = std::get_if<Dim>(&value)) hash = hash_text(dim->to_string(), hash);
    if (const auto* shape = std::get_if<Shape>(&value)) hash = hash_text(to_string(*shape), hash);
    if (const auto* dtype = std::get_if<DType>(&value)) hash = hash_text(to_string(*dtype), hash);
    if (const auto* number = std::get_if<double>(&value)) hash = hash_text(fmt::format("{}", *number), hash);
  }
  return hash;
}

Graph merge_common(Graph graph, const PassContext&) {
  merge_constants(graph);
  std::map<std::tuple<const OpDef*, uint64_t, std::vector<ValueId>>, std::vector<NodeId>> seen;
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    check_stop();
    const Node& node = graph.node(id);
    if (!node.subgraphs.empty() || names_a_size(graph, node)) continue;
    std::vector<NodeId>& alike = seen[{node.op, fingerprint(node.attributes), node.operands}];
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
