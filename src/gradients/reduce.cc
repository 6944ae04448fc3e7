// Reductions: what one element of a result says of all that it was made of.
#include <algorithm>

#include "base/error.h"
#include "gradients/gradient.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/cumsum.h"
#include "ops/calls/expand.h"
#include "ops/calls/reduce.h"
#include "ops/rules.h"

namespace hone {
namespace {

std::vector<size_t> reduced_axes(const GradientArgs& a) {
  const size_t rank = a.type(0).rank();
  std::vector<size_t> all;
  for (size_t i = 0; i < rank; ++i) all.push_back(i);
  const Attributes& attributes = a.op().attributes;
  if (attributes.has("axes")) return checked_axes(attributes.get<std::vector<int64_t>>("axes"), rank);
  if (a.operand(1) == kNone) return all;
  const Tensor* axes = a.graph.constant(a.operand(1));
  if (!axes) fail("its axes are computed while it runs; accepted: an attribute or a constant");
  if (axes->elements() > 0) return checked_axes(axes->to_integers(), rank);
  return attributes.get_or<int64_t>("noop_with_empty_axes", 0) ? std::vector<size_t>() : all;
}

// The axes of a reduction, and its result and gradient with length 1 along them.
class Reduced {
 public:
  explicit Reduced(const GradientArgs& a) : a_(a), axes_(reduced_axes(a)), shape_(a.type(0).shape) {
    for (size_t axis : axes_) shape_[axis] = 1;
  }

  Graph& graph() const { return a_.graph; }
  ValueId x() const { return wide_operand(a_, 0); }
  ValueId d() const { return reshaped(graph(), a_.d_results[0], shape_); }
  ValueId result() const { return reshaped(graph(), a_.result(), shape_); }
  ValueId over_x(ValueId v) const { return ops::expand(graph(), {.x = v, .shape = a_.type(0).shape}); }
  const std::vector<size_t>& axes() const { return axes_; }
  std::vector<int64_t> axis_list() const { return {axes_.begin(), axes_.end()}; }

  // How many elements an element of the result is made of.
  ValueId count() const { return size_along(graph(), a_.operand(0), axes_, graph().type(a_.d_results[0]).dtype); }

 private:
  const GradientArgs& a_;
  std::vector<size_t> axes_;
  Shape shape_;
};

std::vector<ValueId> sum_gradient(const GradientArgs& a) {
  const Reduced r(a);
  return {r.over_x(r.d()), kNone};
}

std::vector<ValueId> mean_gradient(const GradientArgs& a) {
  const Reduced r(a);
  return {r.over_x(ops::div(a.graph, {r.d(), r.count()})), kNone};
}

// Elements that are the extreme share its gradient.
std::vector<ValueId> extreme_gradient(const GradientArgs& a) {
  const Reduced r(a);
  const DType dtype = a.graph.type(a.d_results[0]).dtype;
  const ValueId is_extreme = ops::cast(a.graph, {.x = ops::equal(a.graph, {a.operand(0), r.result()}), .dtype = dtype});
  const ValueId count = ops::reduce_sum(a.graph, {.x = is_extreme, .axes = r.axis_list()});
  return {ops::mul(a.graph, {is_extreme, ops::div(a.graph, {r.d(), count})}), kNone};
}

// Axis by axis: the product of all elements but one is that of those before it times that of those after it, which
// holds where some are 0.
std::vector<ValueId> product_gradient(const GradientArgs& a) {
  const Reduced r(a);
  Graph& g = a.graph;
  std::vector<ValueId> partial{r.x()};
  for (size_t axis : r.axes())
    partial.push_back(ops::reduce_prod(g, {.x = partial.back(), .axes = std::vector{static_cast<int64_t>(axis)}}));
  ValueId d = r.d();
  for (size_t i = r.axes().size(); i-- > 0;) {
    const auto axis = static_cast<int64_t>(r.axes()[i]);
    const ValueId before = ops::cumprod(g, {.x = partial[i], .axis = axis, .exclusive = 1}),
                  after = ops::cumprod(g, {.x = partial[i], .axis = axis, .exclusive = 1, .reverse = 1});
    d = ops::mul(g, {d, ops::mul(g, {before, after})});
  }
  return {d, kNone};
}

}  // namespace

extern constinit const GradientDef reduce_sum_gradient_def{.op = &reduce_sum_def, .rule = sum_gradient};
extern constinit const GradientDef reduce_mean_gradient_def{.op = &reduce_mean_def, .rule = mean_gradient};
extern constinit const GradientDef reduce_max_gradient_def{.op = &reduce_max_def, .rule = extreme_gradient};
extern constinit const GradientDef reduce_min_gradient_def{.op = &reduce_min_def, .rule = extreme_gradient};
extern constinit const GradientDef reduce_prod_gradient_def{.op = &reduce_prod_def, .rule = product_gradient};

}  // namespace hone
