// Gradients of the running extremes: each result's goes to the element that it is.
#include <limits>

#include "gradients/gradient.h"
#include "ops/calls/comparison.h"
#include "ops/calls/full.h"
#include "ops/calls/gather_elements.h"

namespace hone {

extern constinit const OpDef cummax_def, cummin_def;

namespace {

// An element that equals its own result is the extreme from there on, so the last such position is the one that was
// read: the largest, or the smallest of a run from the end.
std::vector<ValueId> extreme_gradient(const GradientArgs& a) {
  Graph& g = a.graph;
  const auto axis = a.op().attributes.get_or<int64_t>("axis", -1),
             reverse = a.op().attributes.get_or<int64_t>("reverse", 0);
  const ValueId is_read = ops::equal(g, {a.operand(0), a.result()}),
                position = ops::iota(g, {.shape = a.type(0).shape, .axis = axis}),
                never = g.add_scalar<int64_t>(reverse ? std::numeric_limits<int64_t>::max() : -1);
  const ValueId known = ops::where(g, {is_read, position, never});
  const ValueId read = g.emit(reverse ? cummin_def : cummax_def, {known}, {{"axis", axis}, {"reverse", reverse}});
  const ValueId d = a.d_results[0], none = zeros(g, g.type(d).dtype, a.type(0).shape);
  return {ops::scatter_elements(g, {.x = none, .indices = read, .updates = d, .axis = axis, .reduction = "add"})};
}

}  // namespace

extern constinit const GradientDef cummax_gradient_def{.op = &cummax_def, .rule = extreme_gradient};
extern constinit const GradientDef cummin_gradient_def{.op = &cummin_def, .rule = extreme_gradient};

}  // namespace hone
