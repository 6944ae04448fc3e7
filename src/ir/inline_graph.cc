#include "ir/inline_graph.h"

#include "base/error.h"

namespace hone {

std::vector<ValueId> inline_graph(Graph& into, const Graph& from, std::span<const ValueId> inputs) {
  CHECK(inputs.size() == from.inputs().size(), "{} values for the {} inputs of graph {}", inputs.size(),
        from.inputs().size(), from.name);
  std::vector<ValueId> values(from.value_capacity(), kNone);
  const auto at = [&](ValueId id) -> ValueId& { return values[static_cast<size_t>(id)]; };
  for (size_t i = 0; i < inputs.size(); ++i) at(from.inputs()[i]) = inputs[i];
  for (ValueId id : from.constants()) at(id) = into.add_constant("", *from.constant(id));
  for (NodeId id : from.nodes()) {
    const Node& node = from.node(id);
    Call call{node.op, {}, node.attributes, node.subgraphs};
    for (ValueId v : node.operands) call.operands.push_back(v == kNone ? kNone : at(v));
    const NodeId added = into.add_node(std::move(call));
    for (size_t i = 0; i < node.results.size(); ++i) at(node.results[i]) = into.result(added, static_cast<int>(i));
  }
  std::vector<ValueId> outputs;
  for (const Output& output : from.outputs()) outputs.push_back(at(output.value));
  return outputs;
}

}  // namespace hone
