// What a gradient rule is: how the gradients of an op's operands follow from those of its results, as more nodes of the
// same graph. One file per op or small family, found by its GradientDef. Pointwise ops need none, theirs are
// derivatives of their expressions, unless a better formula is known. An op that has no gradient says why
// (OpDef::no_gradient).
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

// Gradients of the operands, in their order and of their shapes: kNone where one is zero or not wanted; floats, which
// gradients_of() makes f32, or f64 where the operand is, whatever the operand's own type.
using GradientRule = std::vector<ValueId> (*)(const GradientArgs&);

struct GradientDef {
  const OpDef* op;
  GradientRule rule;
};

// The gradients of a node's operands by its op's rule. Throws Error naming the op, and why it has none, where it has
// none.
std::vector<ValueId> gradients_of(const GradientArgs& args);
bool has_gradient(const OpDef& op);

// Of an operand of `dtype`: f64 for f64, else f32.
DType gradient_dtype(DType dtype);

// For rules: `d` summed over what an operand of `shape` was broadcast along: dimensions that it lacks, and those that
// are 1 where d's are not. Throws Error where only values of symbols tell whether one was.
ValueId summed_to(Graph& graph, ValueId d, const Shape& shape);
ValueId zeros(Graph& graph, DType dtype, const Shape& shape);
ValueId as_dtype(Graph& graph, ValueId x, DType dtype);         // cast unless it is
ValueId reshaped(Graph& graph, ValueId x, const Shape& shape);  // likewise
// The number of x's elements along axes, a scalar.
ValueId size_along(Graph& graph, ValueId x, const std::vector<size_t>& axes, DType dtype);
// Operand i in its type of gradients.
ValueId wide_operand(const GradientArgs& a, size_t i);

// What a shape rule sees of the node: for the functions of ops/rules.h that read arguments, be they attributes or
// constants.
class KnownArguments {
 public:
  explicit KnownArguments(const GradientArgs& a);
  InferArgs infer() const { return {types_, constants_, attributes_}; }

 private:
  std::vector<const TensorType*> types_;
  std::vector<const Tensor*> constants_;
  const Attributes& attributes_;
};

}  // namespace hone
