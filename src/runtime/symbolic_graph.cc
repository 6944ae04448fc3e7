#include "runtime/symbolic_graph.h"

#include <algorithm>
#include <set>

#include "kernels/shapes.h"
#include "runtime/cut_graph.h"

namespace hone {
namespace {

void note_symbols(const Shape& shape, std::vector<std::string>& symbols) {
  for (const Dim& dim : shape) dim.collect_symbols(symbols);
}

// Whether the op's shape rule holds for all sizes. Other nodes' rules are asked again with each run's sizes.
bool holds_for_all_sizes(const Graph& graph, const Node& node) {
  const TensorType& result = graph.type(node.results[0]);
  std::vector<const TensorType*> types;
  for (ValueId v : node.operands) types.push_back(v == kNone ? nullptr : &graph.type(v));
  const auto others = [&](const auto& holds) {
    return std::all_of(node.operands.begin() + 1, node.operands.end(),
                       [&](ValueId v) { return v == kNone || holds(v); });
  };
  if (node.op->fits_all_sizes) {
    const std::vector<const Tensor*> unknown(types.size());
    return node.op->fits_all_sizes({types, unknown, node.attributes}, result);
  }
  if (node.op->view) return others([&](ValueId v) { return graph.constant(v) != nullptr; });
  if (node.op->pointwise)
    return std::ranges::all_of(types, [&](const TensorType* t) { return !t || broadcasts_to(t->shape, result.shape); });
  if (!node.op->row) return false;
  const Shape& x = types[0]->shape;  // the others are vectors along the row
  return !x.empty() && others([&](ValueId v) { return graph.type(v).shape == Shape{x.back()}; });
}

bool has_open_sizes(const Graph& graph, const Node& node) {
  const auto is_open = [&](ValueId v) { return v != kNone && !is_constant(graph.type(v).shape); };
  return std::ranges::any_of(node.operands, is_open) || std::ranges::any_of(node.results, is_open);
}

// Takes sizes of pointwise operands that may be equal or broadcast for equal: the sizes of inputs stay as they are, of
// others the shortest formula stands for both, wherever one of them is a size, so that what has one size by its name
// has one by the other. The nodes whose results are stated so: their rules tell for which runs that is right.
std::set<NodeId> assume_equal_sizes(Graph& graph) {
  std::set<NodeId> assumed;
  const auto is_of_inputs = [&](const Dim& size) {
    return std::ranges::any_of(graph.inputs(), [&](ValueId v) {
      const Shape& shape = graph.type(v).shape;
      return std::ranges::find(shape, size) != shape.end();
    });
  };
  const auto state = [&](const Dim& size, const Dim& as) {
    for (NodeId n : graph.nodes())
      for (ValueId v : graph.node(n).results) {
        TensorType type = graph.type(v);
        if (std::ranges::find(type.shape, size) == type.shape.end()) continue;
        std::ranges::replace(type.shape, size, as);
        graph.refine_type(v, type);
        assumed.insert(n);
      }
  };
  for (NodeId n : graph.nodes()) {
    graph.reinfer(n);
    const Node& node = graph.node(n);
    if (!node.op->pointwise) continue;
    const size_t rank = graph.type(node.results[0]).shape.size();
    for (size_t from_end = 1; from_end <= rank; ++from_end) {
      std::vector<Dim> open;
      for (ValueId v : node.operands) {
        if (v == kNone || graph.type(v).shape.size() < from_end) continue;
        if (const Dim& size = graph.type(v).shape.rbegin()[from_end - 1]; !size.is_constant()) open.push_back(size);
      }
      if (open.empty()) continue;
      const Dim stated = *std::ranges::min_element(
          open, {}, [&](const Dim& size) { return std::pair(!is_of_inputs(size), size.to_string().size()); });
      for (const Dim& size : open)
        if (!(size == stated) && may_be_same(size, stated) && !is_of_inputs(size)) state(size, stated);
    }
    graph.reinfer(n);
  }
  return assumed;
}

TensorType with_sizes(TensorType type, const Bindings& sizes) {
  for (Dim& dim : type.shape) dim = dim.substitute(sizes);
  return type;
}

}  // namespace

std::optional<SymbolicGraph> SymbolicGraph::of(const Graph& given, const LowerOptions& options,
                                               const Layouts& layouts) {
  if (given.symbols().empty() && layouts.empty()) return std::nullopt;
  Graph graph = given;
  graph.reinfer();  // what a file states of shapes is not taken on trust
  const std::set<NodeId> assumed = assume_equal_sizes(graph);
  if (!undecided_for_any_sizes(graph).empty()) return std::nullopt;
  SymbolicGraph open;
  std::vector<std::string> decided;  // symbols that have values when the nodes so far are done
  open.known_.resize(graph.value_capacity());
  for (ValueId v : graph.inputs()) note_symbols(graph.type(v).shape, decided);
  for (ValueId v : graph.constants()) open.known_[static_cast<size_t>(v)] = !graph.type(v).is_packed();
  Graph rest = graph;
  std::vector<NodeId> follows;
  for (NodeId n : graph.nodes()) {
    const Node& node = graph.node(n);
    std::vector<std::string> symbols = decided;
    for (ValueId v : node.results) note_symbols(graph.type(v).shape, symbols);
    const bool known = node.op->from_types || std::ranges::all_of(node.operands, [&](ValueId v) {
                         return v == kNone || open.known_[static_cast<size_t>(v)];
                       });
    if (known || symbols.size() > decided.size() || assumed.contains(n) ||
        (has_open_sizes(graph, node) && !holds_for_all_sizes(graph, node)))
      open.nodes_.push_back(n);
    decided = std::move(symbols);
    if (!known) continue;
    follows.push_back(n);
    for (ValueId v : node.results) {
      open.known_[static_cast<size_t>(v)] = true;
      if (rest.use_count(v) == 0) continue;
      const ValueId input = rest.add_input(kKnownInput + graph.value(v).name, graph.type(v));
      open.input_of_[v] = input;
      rest.replace_all_uses(v, input);
    }
  }
  for (auto n = follows.rbegin(); n != follows.rend(); ++n) rest.erase(*n);
  // Nothing of the rest reads what only nodes that follow read from each other.
  for (auto entry = open.input_of_.begin(); entry != open.input_of_.end();) {
    const bool unused = rest.use_count(entry->second) == 0;
    if (unused) rest.erase_input(entry->second);
    entry = unused ? open.input_of_.erase(entry) : std::next(entry);
  }
  open.graph_ = graph;
  open.budget_ = FoldBudget::of(graph);
  open.prepared_ = std::make_shared<PreparedGraph>(std::move(rest), options, layouts);
  return open;
}

std::optional<RunSizes> SymbolicGraph::sizes(const Bindings& bindings) const {
  Bindings sizes = bindings;
  std::map<ValueId, Tensor> values, inputs;
  FoldBudget budget = budget_;
  for (NodeId n : nodes_) {
    const Node& node = graph_.node(n);
    std::vector<TensorType> types;
    types.reserve(node.operands.size());
    std::vector<const TensorType*> operands;
    std::vector<const Tensor*> constants;
    for (ValueId v : node.operands) {
      const TensorType* type = v == kNone ? nullptr : &graph_.type(v);
      if (type && !is_constant(type->shape)) type = &types.emplace_back(with_sizes(*type, sizes));
      operands.push_back(type);
      const auto found = values.find(v);
      constants.push_back(found == values.end() ? graph_.constant(v) : &found->second);
    }
    const bool open_attributes = is_symbolic(node.attributes);
    const Attributes own = open_attributes ? substituted(node.attributes, sizes) : Attributes();
    const Attributes& attributes = open_attributes ? own : node.attributes;
    if (open_attributes && is_symbolic(attributes)) return std::nullopt;
    std::vector<TensorType> results;
    std::optional<std::vector<Tensor>> made;
    if (known_[static_cast<size_t>(node.results[0])]) {
      made = known_results(*node.op, operands, constants, attributes, budget);
      if (!made) return std::nullopt;
      for (const Tensor& tensor : *made) results.push_back(tensor.type());
    } else {
      results = infer_results(*node.op, operands, constants, attributes);
    }
    for (size_t i = 0; i < node.results.size(); ++i) {
      const ValueId v = node.results[i];
      if (!is_constant(results[i].shape)) return std::nullopt;  // it depends on data
      const Shape &declared = with_sizes(graph_.type(v), sizes).shape, &actual = results[i].shape;
      if (declared.size() != actual.size()) return std::nullopt;
      for (size_t d = 0; d < actual.size(); ++d)
        if (declared[d].is_symbol()) sizes[declared[d].to_string()] = actual[d].constant();
        else if (!(declared[d].substitute(sizes) == actual[d])) return std::nullopt;  // a formula that is not for these
      if (!made) continue;
      if (const auto input = input_of_.find(v); input != input_of_.end()) inputs.emplace(input->second, (*made)[i]);
      values.emplace(v, std::move((*made)[i]));
    }
  }
  return prepared_->sizes(std::move(sizes), std::move(inputs));
}

}  // namespace hone
