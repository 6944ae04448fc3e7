// Common subexpressions: equal ops on equal operands with equal attributes, and constants of equal contents that are
// anonymous or come from one tensor.
#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/stop.h"
#include "ir/lying_bytes.h"
#include "ir/unbacked.h"
#include "passes/pass.h"

namespace hone {
namespace {

constexpr std::string_view kMoved[] = {".folded", ".transposed"};

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
    const uint64_t hash = hash_bytes(lying_bytes(tensor.data()), kind);
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

// A label without what folding and transposing put behind it: that of the tensor in the file.
std::string_view stem(std::string_view label) {
  for (;;) {
    const std::string_view name = label.substr(0, label.find_last_not_of("0123456789") + 1);
    const auto suffix = std::ranges::find_if(kMoved, [&](std::string_view each) { return name.ends_with(each); });
    if (suffix == std::end(kMoved) || name.size() == suffix->size()) return label;
    label = name.substr(0, name.size() - suffix->size());
  }
}

// A table that a last layer reads transposed has been transposed twice, and is the same again: one weight, under its
// own name. Tensors that the file holds twice stay two.
void merge_moved_weights(Graph& graph) {
  std::map<std::string_view, std::vector<ValueId>> by_stem;
  for (ValueId id : graph.constants())
    if (const Value& value = graph.value(id); !value.label.empty() && value.constant->container() == Container::none)
      by_stem[stem(value.label)].push_back(id);
  const auto length = [&](ValueId id) { return graph.value(id).label.size(); };
  for (auto& [label, made] : by_stem) {
    std::ranges::stable_sort(made, {}, length);
    for (size_t i = 1; i < made.size(); ++i) {
      check_stop();
      const Tensor& tensor = *graph.constant(made[i]);
      const auto same =
          std::ranges::find_if(made.begin(), made.begin() + static_cast<ptrdiff_t>(i), [&](ValueId other) {
            return graph.type(other) == tensor.type() && graph.constant(other)->same_bits(tensor);
          });
      if (same != made.begin() + static_cast<ptrdiff_t>(i)) graph.replace_all_uses(made[i], *same);
    }
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
  merge_moved_weights(graph);
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
    .doc =
        "Nodes that compute the same from the same become one; so do constants of the same bits that are anonymous or "
        "were moved from one tensor of the file.",
    .run = merge_common};

}  // namespace hone
