#include "runtime/split_graph.h"

#include <algorithm>

#include "ops/evaluate.h"

namespace hone {
namespace {

// The symbols of `before` that have become constants.
void note_sizes(const Shape& before, const Shape& after, Bindings& found) {
  for (size_t i = 0; i < before.size() && before.size() == after.size(); ++i)
    if (before[i].is_symbol() && after[i].is_constant()) found[before[i].to_string()] = after[i].constant();
}

void set_sizes(Graph& graph, NodeId n, const Bindings& sizes) {
  const Attributes known = substituted(graph.node(n).attributes, sizes);
  for (const auto& [name, value] : known.items())
    if (std::holds_alternative<Dim>(value) || std::holds_alternative<Shape>(value)) graph.set_attribute(n, name, value);
}

// Positions, a mask of ones, shapes: known now that the symbols are bound. What they give may decide the shapes of
// nodes after them, which are inferred again. Packed constants stay: kernels decode the few rows they need faster than
// a whole table is decoded here.
Graph evaluate_constants(Graph graph) {
  FoldBudget budget = FoldBudget::of(graph);
  Bindings found;  // sizes that depended on data when the graph was made, and do not any more
  for (NodeId n : std::vector<NodeId>(graph.nodes().begin(), graph.nodes().end())) {
    if (is_symbolic(graph.node(n).attributes)) set_sizes(graph, n, found);
    std::vector<Shape> before;
    for (ValueId v : graph.node(n).results) before.push_back(graph.type(v).shape);
    graph.reinfer(n);
    const std::optional<std::vector<Tensor>> results = known_results(graph, graph.node(n), budget);
    for (size_t i = 0; i < before.size(); ++i)
      note_sizes(before[i], results ? to_shape((*results)[i].shape()) : graph.type(graph.node(n).results[i]).shape,
                 found);
    if (!results) continue;
    for (size_t i = 0; i < results->size(); ++i) {
      const ValueId old = graph.result(n, static_cast<int>(i));
      graph.replace_all_uses(old, graph.add_constant("", (*results)[i]));
    }
    graph.erase(n);
  }
  return graph;
}

bool is_plain(const TensorType& type) { return type.is_static() && type.dtype != DType::string; }

// By value: whether it is an input, a constant or a result of plain type that depends on such values alone.
std::vector<bool> fixed_values(const Graph& graph) {
  std::vector<bool> fixed(graph.value_capacity(), false);
  for (ValueId v : graph.inputs()) fixed[static_cast<size_t>(v)] = is_plain(graph.type(v));
  for (ValueId v : graph.constants()) fixed[static_cast<size_t>(v)] = is_plain(graph.type(v));
  for (NodeId n : graph.nodes()) {
    const Node& node = graph.node(n);
    bool whole = node.subgraphs.empty();
    for (ValueId v : node.operands) whole = whole && (v == kNone || fixed[static_cast<size_t>(v)]);
    for (ValueId v : node.results) whole = whole && is_plain(graph.type(v));
    for (ValueId v : node.results) fixed[static_cast<size_t>(v)] = whole;
  }
  return fixed;
}

template <class Keep>
void keep_nodes(Graph& graph, Keep keep) {
  std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (auto n = nodes.rbegin(); n != nodes.rend(); ++n)
    if (!keep(*n)) graph.erase(*n);
  graph.erase_unused_constants();
  const std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  for (ValueId v : inputs)
    if (graph.use_count(v) == 0) graph.erase_input(v);
}

bool all_fixed(const Graph& graph, const std::vector<bool>& fixed) {
  for (NodeId n : graph.nodes())
    for (ValueId v : graph.node(n).results)
      if (!fixed[static_cast<size_t>(v)]) return false;
  return std::all_of(graph.outputs().begin(), graph.outputs().end(),
                     [&](const Output& output) { return fixed[static_cast<size_t>(output.value)]; });
}

}  // namespace

SplitGraph split_graph(const Graph& symbolic, const Bindings& bindings) {
  const Graph graph = evaluate_constants(specialise(symbolic, bindings));
  const std::vector<bool> fixed = fixed_values(graph);
  if (all_fixed(graph, fixed)) return {graph, std::nullopt};
  const auto is_fixed_node = [&](NodeId n) {
    const Node& node = graph.node(n);
    return std::all_of(node.results.begin(), node.results.end(),
                       [&](ValueId v) { return fixed[static_cast<size_t>(v)]; });
  };
  // Values that fixed nodes compute and others read, or that are outputs.
  std::vector<ValueId> crossing;
  const auto cross = [&](ValueId v) {
    const bool computed = v != kNone && fixed[static_cast<size_t>(v)] && graph.producer(v) != kNone;
    if (computed && std::find(crossing.begin(), crossing.end(), v) == crossing.end()) crossing.push_back(v);
  };
  for (NodeId n : graph.nodes())
    if (!is_fixed_node(n))
      for (ValueId v : graph.node(n).operands) cross(v);
  for (const Output& output : graph.outputs()) cross(output.value);

  Graph inside = graph, open = graph;
  std::vector<Output> handed;
  for (ValueId v : crossing) {
    const std::string label = "%" + graph.value(v).name;  // differs from the labels of inputs in all but adversity
    handed.push_back({v, label});
    open.replace_all_uses(v, open.add_input(label, graph.type(v)));
  }
  inside.set_outputs(std::move(handed));
  keep_nodes(inside, is_fixed_node);
  keep_nodes(open, [&](NodeId n) { return !is_fixed_node(n); });
  return {std::move(inside), std::move(open)};
}

}  // namespace hone
