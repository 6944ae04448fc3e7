#include "ir/flops.h"

#include <limits>
#include <memory>

#include "base/error.h"
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
    for (const TensorType* type : types)
      if (type && !type->is_static()) return 0;
    try {
      const Dim flops = node.op->flops({types, constants, node.attributes});
      return flops.is_constant() ? static_cast<double>(flops.constant()) : 0;
    } catch (const Error&) {  // more than 2^63: nobody will run it
      return std::numeric_limits<double>::infinity();
    }
  }
  if (!node.op->pointwise || !graph.type(node.results[0]).is_static()) return 0;
  std::vector<DType> dtypes;
  const auto present = std::make_unique<bool[]>(node.operands.size());
  for (size_t i = 0; i < node.operands.size(); ++i) {
    present[i] = node.operands[i] != kNone;
    dtypes.push_back(present[i] ? graph.type(node.operands[i]).dtype : DType::f32);
  }
  const Program program = pointwise_program(*node.op, dtypes, node.attributes, {present.get(), node.operands.size()});
  double instructions = 0;
  for (const Instruction& i : program.code) instructions += i.op != ExprOp::arg && i.op != ExprOp::constant;
  return instructions * static_cast<double>(element_count(constant_shape(graph.type(node.results[0]).shape)));
}

}  // namespace hone
