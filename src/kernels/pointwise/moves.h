// Ops whose results are elements of an operand in other places, as copies by pointwise kernels: one for each regular
// part of a result.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/lowering.h"
#include "kernels/pointwise/plan.h"

namespace hone {

// A kernel over `extents` elements of values that lie along them with strides, from an offset on.
struct Strided {
  std::vector<ValueId> values;  // several results lie alike; an operand is one
  Shape strides;
  int64_t offset = 0;
};
Support lower_strided(const Lowering& lowering, Prepared& prepared, PointwisePlan plan, const Shape& extents,
                      const std::vector<Strided>& operands, const Strided& results);

// Over all elements of results that lie as the run has them.
Support lower_elements(const Lowering& lowering, Prepared& prepared, const PointwisePlan& plan, Shape extents,
                       std::vector<Strided> operands, const std::vector<ValueId>& values);

Support lower_moves(const Lowering& lowering, Prepared& prepared);

// What an op's rules need to know of a node: the constants among its arguments.
struct KnownArguments {
  std::vector<const Tensor*> operands;
  std::vector<TensorType> results;
  Attributes attributes;
  bool all = true;  // that it has
  EvalArgs args() const { return {operands, attributes, results}; }
};
Shape transposed_strides(const Lowering& lowering, const Node& node);  // of x, along the axes of the result
KnownArguments known_arguments(const Lowering& lowering, NodeId n);

}  // namespace hone
