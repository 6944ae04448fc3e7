#include "ir/flops.h"

#include "ir/pointwise.h"

namespace hone {

double node_flops(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op->flops) {
    std::vector<const TensorType*> types;
    std::vector<const Tensor*> constants;
    for (ValueId v : node.operands) {
      types.push_back(v == kNone ? nullptr : &graph.type(v));
      constants.push_back(graph.constant(v));
    }
    return static_cast<double>(node.op->flops({types, constants, node.attributes}).constant());
  }
  if (!node.op->pointwise) return 0;
  std::vector<DType> dtypes;
  for (ValueId v : node.operands) dtypes.push_back(graph.type(v).dtype);
  double instructions = 0;
  for (const Instruction& i : pointwise_program(*node.op, dtypes, node.attributes).code)
    instructions += i.op != ExprOp::arg && i.op != ExprOp::constant;
  return instructions * static_cast<double>(element_count(constant_shape(graph.type(node.results[0]).shape)));
}

}  // namespace hone
