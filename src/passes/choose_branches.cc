#include "passes/choose_branches.h"

#include <algorithm>
#include <set>

#include "base/stop.h"
#include "ir/bodies.h"
#include "ir/decided_sizes.h"
#include "ir/unbacked.h"
#include "ops/calls/control.h"
#include "ops/evaluate.h"
#include "passes/pass.h"

namespace hone {
namespace {

using Values = std::map<ValueId, Tensor>;

void evaluate(const Graph& graph, const Node& node, Values& values, FoldBudget& budget) {
  check_stop();
  if (!node.subgraphs.empty()) return;
  std::vector<const TensorType*> types;
  std::vector<const Tensor*> constants;
  for (ValueId v : node.operands) {
    const auto found = values.find(v);
    types.push_back(v == kNone ? nullptr : &graph.type(v));
    constants.push_back(found == values.end() ? graph.constant(v) : &found->second);
  }
  std::optional<std::vector<Tensor>> made = known_results(*node.op, types, constants, node.attributes, budget);
  for (size_t i = 0; made && i < made->size(); ++i) values.emplace(node.results[i], std::move((*made)[i]));
}

using Symbols = std::set<std::string>;

// Of sizes that depend on data.
void add_symbols(const TensorType& type, Symbols& symbols) {
  std::vector<std::string> names;
  for (const Dim& dim : type.shape)
    if (depends_on_data(dim)) dim.collect_symbols(names);
  symbols.insert(names.begin(), names.end());
}

void add_symbols_of_results(const Graph& graph, NodeId but, Symbols& symbols) {
  for (NodeId n : graph.nodes())
    if (n != but)
      for (ValueId v : graph.node(n).results) add_symbols(graph.type(v), symbols);
}

bool has_clashing_symbols(const Graph& graph, NodeId node, const Graph& body) {
  Symbols own, around, there;
  add_symbols_of_results(body, kNone, own);
  for (ValueId v : body.inputs()) add_symbols(body.type(v), around);
  add_symbols_of_results(graph, node, there);
  return std::ranges::any_of(own, [&](const std::string& s) { return !around.contains(s) && there.contains(s); });
}

void substitute(Graph& body, const DecidedSizes& decided) {
  const std::vector<NodeId> nodes(body.nodes().begin(), body.nodes().end());
  for (NodeId n : nodes) {
    const Attributes known = decided.substituted(body.node(n).attributes);
    for (const auto& [name, value] : known.items())
      if (std::holds_alternative<Dim>(value) || std::holds_alternative<Shape>(value))
        body.set_attribute(n, name, value);
  }
  edit_bodies(body, [&](Graph inner) {
    substitute(inner, decided);
    return inner;
  });
}

class Inlining {
 public:
  Inlining(Graph& graph, const Graph& body) : graph_(graph), body_(body), values_(body.value_capacity(), kNone) {}

  std::vector<ValueId> add(std::span<const ValueId> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) at(body_.inputs()[i]) = inputs[i];
    for (ValueId v : body_.constants()) {
      const std::string& label = body_.value(v).label;
      const bool is_free = !label.empty() && graph_.find_constant(label) == kNone;
      at(v) = graph_.add_constant(is_free ? label : "", *body_.constant(v));
    }
    for (NodeId n : body_.nodes()) add(body_.node(n));
    std::vector<ValueId> outputs;
    for (const Output& output : body_.outputs()) outputs.push_back(at(output.value));
    return outputs;
  }

 private:
  ValueId& at(ValueId v) { return values_[static_cast<size_t>(v)]; }

  void add(const Node& node) {
    Call call{node.op, {}, decided_.substituted(node.attributes), node.subgraphs};
    for (ValueId v : node.operands) call.operands.push_back(v == kNone ? kNone : at(v));
    if (!decided_.empty())
      for (Graph& inner : call.subgraphs) substitute(inner, decided_);
    const NodeId added = graph_.add_node(std::move(call), body_.value(node.results[0]).name);
    for (size_t i = 0; i < node.results.size(); ++i) {
      const ValueId v = graph_.result(added, static_cast<int>(i));
      keep_symbols(v, body_.type(node.results[i]));
      at(node.results[i]) = v;
    }
  }

  // A size that nothing more is known of keeps the symbol that the body has for it.
  void keep_symbols(ValueId v, const TensorType& was) {
    TensorType type = graph_.type(v);
    if (!was.ranked || !type.ranked || was.rank() != type.rank()) return;
    for (size_t d = 0; d < type.rank(); ++d)
      if (type.shape[d].is_symbol() && was.shape[d].is_symbol() && depends_on_data(type.shape[d]) &&
          depends_on_data(was.shape[d]))
        type.shape[d] = was.shape[d];
    graph_.refine_type(v, type);
    decided_.note(was.shape, type.shape);
  }

  Graph& graph_;
  const Graph& body_;
  std::vector<ValueId> values_;
  DecidedSizes decided_;
};

Graph choose_branches(Graph graph, const PassContext&) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [n, condition] : known_conditions(graph)) changed |= choose_branch(graph, n, condition);
    if (changed) graph.reinfer();
  }
  return graph;
}

}  // namespace

// Two sweeps in place of a recursion: files may hold chains of any length.
std::map<ValueId, Tensor> known_values(const Graph& graph, const std::set<ValueId>& wanted) {
  Values values;
  std::set<NodeId> nodes;
  const auto want = [&](ValueId v) {
    if (v == kNone) return;
    if (graph.producer(v) != kNone) nodes.insert(graph.producer(v));
  };
  for (ValueId v : wanted) {
    want(v);
    if (const Tensor* constant = graph.constant(v)) values.emplace(v, *constant);
  }
  const std::span<const NodeId> order = graph.nodes();
  for (size_t i = order.size(); i-- > 0;)
    if (nodes.contains(order[i]))
      for (ValueId v : graph.node(order[i]).operands) want(v);
  FoldBudget budget;
  for (NodeId n : order)
    if (nodes.contains(n)) evaluate(graph, graph.node(n), values, budget);
  return values;
}

std::map<NodeId, bool> known_conditions(const Graph& graph) {
  std::map<NodeId, bool> known;
  std::set<ValueId> conditions;
  for (NodeId n : graph.nodes(if_def)) conditions.insert(graph.operand(n, 0));
  if (conditions.empty()) return known;
  const std::map<ValueId, Tensor> values = known_values(graph, conditions);
  for (NodeId n : graph.nodes(if_def))
    if (const auto found = values.find(graph.operand(n, 0)); found != values.end() && found->second.elements() == 1)
      known.emplace(n, found->second.as<bool>()[0]);
  return known;
}

bool choose_branch(Graph& graph, NodeId id, bool condition) {
  const Node node = graph.node(id);
  const Graph& body = node.subgraphs[condition ? 0 : 1];
  const auto is_packed = [&](const Output& output) { return body.type(output.value).is_packed(); };
  if (std::ranges::any_of(body.outputs(), is_packed) || has_clashing_symbols(graph, id, body)) return false;
  const auto taken = static_cast<size_t>(node.attributes.get<int64_t>("then_captures"));
  const std::span<const ValueId> captures = std::span(node.operands).subspan(1);
  graph.set_insertion_point(id);
  const std::vector<ValueId> outputs =
      Inlining(graph, body).add(condition ? captures.first(taken) : captures.subspan(taken));
  graph.set_insertion_point(kNone);
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    names.push_back(graph.value(node.results[i]).name);
    graph.replace_all_uses(node.results[i], outputs[i]);
  }
  graph.erase(id);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (graph.producer(outputs[i]) != kNone && !std::ranges::count(captures, outputs[i]))
      graph.rename(outputs[i], names[i]);
  return true;
}

extern constinit const PassDef choose_branches_def{
    .name = "choose_branches",
    .doc = "An if whose condition follows from constants or sizes becomes the body that it chooses.",
    .run = choose_branches};

}  // namespace hone
