#include "runtime/input_conditions.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "ops/calls/control.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

// A reference evaluation of so little takes a microsecond a node or less.
constexpr int64_t kMostElements = 64;
constexpr size_t kMostNodes = 16;

bool is_small(const TensorType& type) {
  return type.container == Container::none && type.is_static() && !type.is_packed() && type.dtype != DType::string &&
         element_count(constant_shape(type.shape)) <= kMostElements;
}

// The nodes that the value is computed by; none where they are not few, or read what is not small.
std::optional<std::set<NodeId>> computed_by(const Graph& graph, ValueId value) {
  std::set<NodeId> found;
  std::vector<ValueId> wanted{value};
  while (!wanted.empty()) {
    const ValueId v = wanted.back();
    wanted.pop_back();
    if (v == kNone) continue;
    if (!is_small(graph.type(v))) return std::nullopt;
    const NodeId n = graph.producer(v);
    if (n == kNone || !found.insert(n).second) continue;
    const Node& node = graph.node(n);
    if (!node.subgraphs.empty() || is_symbolic(node.attributes) || found.size() > kMostNodes) return std::nullopt;
    wanted.insert(wanted.end(), node.operands.begin(), node.operands.end());
  }
  return found;
}

}  // namespace

InputConditions::InputConditions(const Graph& graph) {
  std::set<NodeId> nodes;
  for (NodeId n : graph.nodes(if_def)) {
    const std::optional<std::set<NodeId>> found = computed_by(graph, graph.operand(n, 0));
    if (!found || nodes.size() + found->size() > kMostNodes) continue;
    nodes.insert(found->begin(), found->end());
    conditions_.push_back(n);
  }
  std::set<ValueId> inputs;
  const auto note_input = [&](ValueId v) {
    if (v != kNone && graph.value(v).kind == ValueKind::input) inputs.insert(v);
  };
  for (NodeId n : graph.nodes()) {
    if (!nodes.contains(n)) continue;
    nodes_.push_back(n);
    for (ValueId v : graph.node(n).operands) note_input(v);
  }
  for (NodeId n : conditions_) note_input(graph.operand(n, 0));
  inputs_.assign(inputs.begin(), inputs.end());
}

std::optional<std::string> InputConditions::key(const Graph& graph, const std::map<std::string, Tensor>& given) const {
  std::string key;
  for (ValueId v : inputs_) {
    const auto found = given.find(graph.value(v).label);
    if (found == given.end() || !fits(found->second, graph.type(v)) || found->second.data().memory())
      return std::nullopt;
    const std::span<const std::byte> bytes = found->second.data().bytes();
    key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return key;
}

std::optional<std::map<NodeId, bool>> InputConditions::of(const Graph& graph,
                                                          const std::map<std::string, Tensor>& given) const {
  if (!key(graph, given)) return std::nullopt;
  std::map<ValueId, Tensor> values;
  for (ValueId v : inputs_) values.emplace(v, given.at(graph.value(v).label));
  const auto value = [&](ValueId v) -> const Tensor* {
    const auto found = values.find(v);
    return found == values.end() ? graph.constant(v) : &found->second;
  };
  try {
    for (NodeId n : nodes_) {
      const Node& node = graph.node(n);
      std::vector<const Tensor*> operands;
      for (ValueId v : node.operands) operands.push_back(v == kNone ? nullptr : value(v));
      std::vector<TensorType> types;
      for (ValueId v : node.results) types.push_back(graph.type(v));
      std::vector<Tensor> results = evaluate_op(*node.op, {operands, node.attributes, types});
      for (size_t i = 0; i < results.size(); ++i) values.insert_or_assign(node.results[i], std::move(results[i]));
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  std::map<NodeId, bool> conditions;
  for (NodeId n : conditions_) {
    const Tensor* condition = value(graph.operand(n, 0));
    if (!condition || condition->elements() != 1) return std::nullopt;
    conditions.emplace(n, condition->as<bool>()[0]);
  }
  return conditions;
}

}  // namespace hone
