#include "gradients/accumulate.h"

#include <algorithm>

#include "base/error.h"
#include "ops/calls/arithmetic.h"

namespace hone {
namespace {

size_t index(ValueId id) { return static_cast<size_t>(id); }

class Accumulation {
 public:
  Accumulation(Graph& graph, std::span<const ValueId> by, std::span<const ValueId> given)
      : graph_(graph), depends_(dependents(graph, by, given)), gradients_(graph.value_capacity(), kNone) {}

  void run(std::span<const Seed> seeds) {
    const std::vector<NodeId> nodes(graph_.nodes().begin(), graph_.nodes().end());
    for (const Seed& seed : seeds) add(seed.value, seed.gradient);
    for (size_t i = nodes.size(); i-- > 0;) visit(nodes[i]);
  }

  ValueId gradient(ValueId id) const { return gradients_[index(id)]; }

 private:
  void add(ValueId id, ValueId gradient) {
    ValueId& sum = gradients_[index(id)];
    sum = sum == kNone ? gradient : ops::add(graph_, {sum, gradient});
  }

  void visit(NodeId id) {
    const std::vector<ValueId> operands = graph_.node(id).operands, results = graph_.node(id).results;
    std::vector<ValueId> d_results;
    for (ValueId result : results) d_results.push_back(gradients_[index(result)]);
    if (std::ranges::all_of(d_results, [](ValueId d) { return d == kNone; })) return;
    const WantedOperands wanted(graph_, graph_.node(id), depends_);
    if (!wanted.any()) return;
    try {
      const std::vector<ValueId> gradients = gradients_at(graph_, id, d_results, wanted);
      for (size_t i = 0; i < gradients.size(); ++i)
        if (wanted[i] && gradients[i] != kNone) add(operands[i], gradients[i]);
    } catch (const Error& e) {
      fail("%{}: {}", graph_.value(results[0]).name, e.what());
    }
  }

  Graph& graph_;
  std::vector<char> depends_;
  std::vector<ValueId> gradients_;  // by value of the graph as it was
};

}  // namespace

bool is_differentiable(const TensorType& type) {
  return is_float(type.dtype) && !type.is_packed() && type.container == Container::none;
}

std::vector<ValueId> accumulate_gradients(Graph& graph, std::span<const Seed> seeds, std::span<const ValueId> by,
                                          std::span<const ValueId> given) {
  Accumulation accumulation(graph, by, given);
  accumulation.run(seeds);
  std::vector<ValueId> gradients;
  for (ValueId id : by) gradients.push_back(is_differentiable(graph.type(id)) ? accumulation.gradient(id) : kNone);
  return gradients;
}

std::vector<ValueId> gradients_through(const GradientArgs& a, std::span<const ValueId> results,
                                       std::span<const ValueId> operands) {
  std::vector<Seed> seeds;
  for (size_t i = 0; i < results.size(); ++i)
    if (a.d_results[i] != kNone) seeds.push_back({results[i], a.d_results[i]});
  std::vector<ValueId> by;
  for (size_t i = 0; i < operands.size(); ++i)
    if (a.wants(i)) by.push_back(operands[i]);
  const std::vector<ValueId> found = accumulate_gradients(a.graph, seeds, by);
  std::vector<ValueId> gradients(operands.size(), kNone);
  for (size_t i = 0, next = 0; i < operands.size(); ++i)
    if (a.wants(i)) gradients[i] = found[next++];
  return gradients;
}

std::vector<char> dependents(const Graph& graph, std::span<const ValueId> by, std::span<const ValueId> given) {
  std::vector<char> depends(graph.value_capacity(), 0);
  for (ValueId id : by) depends[index(id)] = is_differentiable(graph.type(id));
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (std::ranges::any_of(node.operands, [&](ValueId v) { return v != kNone && depends[index(v)]; }))
      for (ValueId result : node.results) depends[index(result)] = std::ranges::count(given, result) == 0;
  }
  return depends;
}

WantedOperands::WantedOperands(const Graph& graph, const Node& node, const std::vector<char>& depends)
    : flags_(std::make_unique<bool[]>(node.operands.size())), count_(node.operands.size()) {
  for (size_t i = 0; i < count_; ++i) {
    const ValueId v = node.operands[i];
    flags_[i] = v != kNone && depends[index(v)] && is_float(graph.type(v).dtype);
    any_ |= flags_[i];
  }
}

std::vector<ValueId> gradients_at(Graph& graph, NodeId id, std::span<const ValueId> d_results,
                                  const WantedOperands& wanted) {
  const std::vector<ValueId>& operands = graph.node(id).operands;
  for (size_t i = 0; i < operands.size(); ++i)
    if (wanted[i] && graph.type(operands[i]).is_packed())
      fail("{} reads %{}, packed while it runs, through which there is no gradient; fake_quant has one",
           graph.node(id).op->name, graph.value(operands[i]).name);
  return gradients_of({graph, id, d_results, wanted.view()});
}

}  // namespace hone
