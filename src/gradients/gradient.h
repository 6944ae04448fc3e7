// What a gradient rule is: how the gradients of an op's operands follow from those of its results, as more nodes of the
// same graph. One file per op or small family, found by its GradientDef; pointwise ops need none, theirs are
// derivatives of their expressions. An op that has no gradient says why (OpDef::no_gradient).
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace hone {

struct GradientArgs {
  Graph& graph;
  NodeId node;                         // whose types have been inferred; it is not changed
  std::span<const ValueId> d_results;  // the gradient of each result, of its shape; kNone where it is zero
  std::span<const bool> wanted;        // by operand: others need none, and emitting it is dead code

  const Node& op() const { return graph.node(node); }
  ValueId operand(size_t i) const { return i < op().operands.size() ? op().operands[i] : kNone; }
  const TensorType& type(size_t i) const { return graph.type(op().operands[i]); }
  ValueId result(size_t i = 0) const { return op().results[i]; }
  bool wants(size_t i) const { return i < wanted.size() && wanted[i]; }
};

// Gradients of the operands, in their order and of their shapes: kNone where one is zero or not wanted. f32 (f64 where
// the operand is), whatever the operand's own type.
using GradientRule = std::vector<ValueId> (*)(const GradientArgs&);

struct GradientDef {
  const OpDef* op;
  GradientRule rule;
};

// The gradients of a node's operands by its op's rule. Throws Error naming the op, and why it has none, where it has
// none.
std::vector<ValueId> gradients_of(const GradientArgs& args);
bool has_gradient(const OpDef& op);

// For rules. `d` summed to the shape of `like`, to which it was broadcast, and in its type of gradients.
ValueId summed_to(Graph& graph, ValueId d, const Shape& shape);

}  // namespace hone
