#include "runtime/cut_graph.h"

#include <algorithm>

#include "ir/decided_sizes.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

// The symbols of `before` that have become constants.
void note_sizes(const Shape& before, const Shape& after, Bindings& found) {
  for (size_t i = 0; i < before.size() && before.size() == after.size(); ++i)
    if (before[i].is_symbol() && after[i].is_constant()) found[before[i].to_string()] = after[i].constant();
}

void set_sizes(Graph& graph, NodeId n, const DecidedSizes& decided, const Bindings& sizes) {
  const Attributes known = substituted(decided.substituted(graph.node(n).attributes), sizes);
  for (const auto& [name, value] : known.items())
    if (std::holds_alternative<Dim>(value) || std::holds_alternative<Shape>(value)) graph.set_attribute(n, name, value);
}

// Positions, a mask of ones, shapes: known now that the symbols are bound. What they give may decide the shapes of
// nodes after them, which are inferred again. Packed constants stay: kernels decode the few rows they need faster than
// a whole table is decoded here.
// `found`: gets sizes that depended on data when the graph was made, and do not any more.
void evaluate_constants(Graph& graph, Bindings& found) {
  FoldBudget budget = FoldBudget::of(graph);
  DecidedSizes decided;
  for (NodeId n : std::vector<NodeId>(graph.nodes().begin(), graph.nodes().end())) {
    if (is_symbolic(graph.node(n).attributes)) set_sizes(graph, n, decided, found);
    std::vector<Shape> before;
    for (ValueId v : graph.node(n).results) before.push_back(graph.type(v).shape);
    graph.reinfer(n);
    const std::optional<std::vector<Tensor>> results = known_results(graph, graph.node(n), budget);
    for (size_t i = 0; i < before.size(); ++i) {
      const Shape now = results ? to_shape((*results)[i].shape()) : graph.type(graph.node(n).results[i]).shape;
      note_sizes(before[i], now, found);
      decided.note(before[i], now);
    }
    if (!results) continue;
    for (size_t i = 0; i < results->size(); ++i) {
      const ValueId old = graph.result(n, static_cast<int>(i));
      graph.replace_all_uses(old, graph.add_constant("", (*results)[i]));
    }
    graph.erase(n);
  }
}

bool is_ranked(const TensorType& type) {
  return type.container == Container::none && type.ranked && type.dtype != DType::string;
}

bool has_symbols(const TensorType& type) { return is_ranked(type) && !is_constant(type.shape); }

// `nodes`, and those that read results of theirs.
std::set<NodeId> with_readers(const Graph& graph, std::set<NodeId> nodes) {
  if (nodes.empty()) return nodes;
  for (NodeId n : graph.nodes())
    if (std::ranges::any_of(graph.node(n).operands, [&](ValueId v) {
          return v != kNone && graph.producer(v) != kNone && nodes.contains(graph.producer(v));
        }))
      nodes.insert(n);
  return nodes;
}

class Cutter {
 public:
  Cutter(const Graph& graph, const std::set<NodeId>& undecided)
      : graph_(graph), late_(with_readers(graph, undecided)), labels_(graph.value_capacity()) {
    for (ValueId v : graph.inputs()) set_label(v, graph.value(v).label);
    for (NodeId n : graph.nodes()) {
      (!late_.contains(n) ? head_ : turns(n) ? turn_ : rest_).nodes.insert(n);
      if (!late_.contains(n) && is_known(n)) known_.insert(n);
    }
  }

  CutGraph cut() {
    if (late_.empty() && std::ranges::all_of(graph_.outputs(), [&](const Output& output) {
          return is_ranked(graph_.type(output.value));
        }))
      return {graph_, std::nullopt};
    for (Part* part : {&turn_, &rest_}) find_inputs(*part);
    // What the turn finds is bound by the shapes of its results.
    for (NodeId n : turn_.nodes)
      for (ValueId v : graph_.node(n).results)
        if (has_symbols(graph_.type(v))) rest_.inputs.insert(v);
    std::set<ValueId> wanted(turn_.inputs);
    wanted.insert(rest_.inputs.begin(), rest_.inputs.end());
    for (const Output& output : graph_.outputs()) wanted.insert(output.value);
    for (ValueId v : wanted)
      if (graph_.producer(v) != kNone || graph_.constant(v)) home(v).outputs.push_back({v, label(v)});
    CutGraph parts{made(head_), CutGraph::Tail{made(turn_), made(rest_), {}}};
    for (const Output& output : graph_.outputs()) parts.tail->outputs.push_back(label(output.value));
    return parts;
  }

 private:
  struct Part {
    std::set<NodeId> nodes, repeated;  // its own, and nodes of the head that it has for itself
    std::set<ValueId> inputs;          // made by other parts
    std::vector<Output> outputs;
  };

  Part& home(ValueId v) {
    const NodeId n = graph_.producer(v);
    return turn_.nodes.contains(n) ? turn_ : rest_.nodes.contains(n) ? rest_ : head_;
  }

  // Those that read the head alone, and what can't be compiled and reads nothing of the rest.
  bool turns(NodeId n) {
    const Node& node = graph_.node(n);
    bool after_turn = false, interpreted = !node.subgraphs.empty();
    for (ValueId v : node.results) interpreted |= !is_ranked(graph_.type(v));
    for (ValueId v : node.operands) {
      if (v == kNone) continue;
      if (&home(v) == &rest_) return false;
      after_turn |= &home(v) == &turn_;
      interpreted |= !is_ranked(graph_.type(v));
    }
    return !after_turn || interpreted;
  }

  // By which a value is handed on.
  const std::string& label(ValueId v) {
    const std::string& known = labels_[static_cast<size_t>(v)];
    if (!known.empty()) return known;
    std::string label = "&" + graph_.value(v).name;
    while (taken_.contains(label)) label += "&";
    set_label(v, label);
    return known;
  }
  void set_label(ValueId v, const std::string& label) {
    taken_.insert(label);
    labels_[static_cast<size_t>(v)] = label;
  }

  // Whether a node of the head follows from constants and the types of inputs; those before it have been asked.
  bool is_known(NodeId n) const {
    const Node& node = graph_.node(n);
    return node.subgraphs.empty() && std::ranges::all_of(node.operands, [&](ValueId v) {
             if (v == kNone || graph_.constant(v)) return true;
             return graph_.producer(v) == kNone ? node.op->from_types != nullptr : known_.contains(graph_.producer(v));
           });
  }

  void find_inputs(Part& part) {
    std::vector<ValueId> wanted;
    const auto want_operands = [&](NodeId n) {
      for (ValueId v : graph_.node(n).operands)
        if (v != kNone && graph_.producer(v) != kNone) wanted.push_back(v);
    };
    for (NodeId n : part.nodes) want_operands(n);
    while (!wanted.empty()) {
      const ValueId v = wanted.back();
      const NodeId n = graph_.producer(v);
      wanted.pop_back();
      if (part.nodes.contains(n) || part.repeated.contains(n)) continue;
      if (!known_.contains(n)) {
        part.inputs.insert(v);
        continue;
      }
      part.repeated.insert(n);
      want_operands(n);
    }
  }

  Graph made(const Part& part) {
    Graph graph = graph_;
    graph.set_outputs(part.outputs);
    for (ValueId v : part.inputs) graph.replace_all_uses(v, graph.add_input(label(v), graph_.type(v)));
    for (size_t i = graph_.nodes().size(); i-- > 0;)
      if (const NodeId n = graph_.nodes()[i]; !part.nodes.contains(n) && !part.repeated.contains(n)) graph.erase(n);
    graph.erase_unused_constants();
    const std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
    for (ValueId v : inputs)
      if (graph.use_count(v) == 0 && !has_symbols(graph.type(v))) graph.erase_input(v);
    return graph;
  }

  const Graph& graph_;
  const std::set<NodeId> late_;
  Part head_, turn_, rest_;
  std::set<NodeId> known_;           // nodes of the head
  std::vector<std::string> labels_;  // by ValueId; empty before one is asked for
  std::set<std::string> taken_;
};

}  // namespace

CutGraph cut_graph(const Graph& graph, const std::set<NodeId>& undecided) { return Cutter(graph, undecided).cut(); }

std::set<NodeId> undecided_for_any_sizes(const Graph& graph) {
  std::set<NodeId> nodes;
  const auto is_odd = [&](ValueId v) { return v != kNone && !is_ranked(graph.type(v)); };
  for (NodeId n : graph.nodes())
    if (const Node& node = graph.node(n); !node.subgraphs.empty() || std::ranges::any_of(node.operands, is_odd) ||
                                          std::ranges::any_of(node.results, is_odd))
      nodes.insert(n);
  return nodes;
}

SpecialisedGraph specialised_graph(const Graph& graph, const Bindings& bindings) {
  SpecialisedGraph fixed{specialise(graph, bindings), bindings, {}};
  evaluate_constants(fixed.graph, fixed.sizes);
  fixed.undecided = undecided_for_any_sizes(fixed.graph);
  for (NodeId n : fixed.graph.nodes())
    for (ValueId v : fixed.graph.node(n).results)
      if (!fixed.graph.type(v).is_static()) fixed.undecided.insert(n);
  return fixed;
}

SpecialisedParts specialised_parts(const Graph& graph, const Bindings& bindings) {
  SpecialisedGraph fixed = specialised_graph(graph, bindings);
  const CutGraph parts = cut_graph(graph, fixed.undecided);
  if (!parts.tail) return {std::move(fixed.graph), {}, {}};
  const auto nodes = [](const Graph& part) { return std::vector<NodeId>(part.nodes().begin(), part.nodes().end()); };
  return {specialised_graph(parts.head, bindings).graph, nodes(parts.tail->turn), nodes(parts.tail->rest)};
}

}  // namespace hone
