// Reverse accumulation: the rules of a graph's nodes, from the gradients of some values back to those of others.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "gradients/gradient.h"

namespace hone {

bool is_differentiable(const TensorType& type);  // plain floats

struct Seed {
  ValueId value, gradient;  // the gradient is of the value's shape
};

// The gradient of each value of `by` where the loss is what has the seeds as gradients; kNone where that is zero, and
// of what is no plain float. Only what lies between them is visited, and `given` values are taken as they are, whatever
// they are computed from. Throws Error where an op on the way has no gradient, naming the value and why.
std::vector<ValueId> accumulate_gradients(Graph& graph, std::span<const Seed> seeds, std::span<const ValueId> by,
                                          std::span<const ValueId> given = {});

// For rules: the gradients of the node's operands where further nodes compute `results` of `operands`, which stand for
// the node's.
std::vector<ValueId> gradients_through(const GradientArgs& a, std::span<const ValueId> results,
                                       std::span<const ValueId> operands);

// --- the steps of it -------------------------------------------------------------------------------------------------

// By value: whether it is one of `by`, plain floats, or is computed from one, and not through a `given` value.
std::vector<char> dependents(const Graph& graph, std::span<const ValueId> by, std::span<const ValueId> given = {});

// The operands through which gradients go on to what depends.
class WantedOperands {
 public:
  WantedOperands(const Graph& graph, const Node& node, const std::vector<char>& depends);
  bool any() const { return any_; }
  bool operator[](size_t i) const { return flags_[i]; }
  std::span<const bool> view() const { return {flags_.get(), count_}; }

 private:
  std::unique_ptr<bool[]> flags_;  // an array, because spans of bool can't view a vector<bool>
  size_t count_;
  bool any_ = false;
};

// gradients_of() the node; Error where one goes to an operand that is packed while the graph runs.
std::vector<ValueId> gradients_at(Graph& graph, NodeId id, std::span<const ValueId> d_results,
                                  const WantedOperands& wanted);

}  // namespace hone
