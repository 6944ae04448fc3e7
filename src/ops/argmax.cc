// argmax: where the largest element along an axis is.
#include <cmath>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"axis", AttributeKind::integer, false, "default -1"},
    {"keepdims", AttributeKind::integer, false, "1: the axis stays with length 1; default 0: it goes"},
};

std::vector<TensorType> infer_argmax(const InferArgs& a) {
  if (!is_float(a[0].dtype)) fail("x is {}; accepted: floats. Insert a cast", to_string(a[0]));
  const size_t axis = checked_axis(a.attributes.get_or<int64_t>("axis", -1), a[0].rank());
  Shape shape = a[0].shape;
  if (shape[axis] == Dim(0)) fail("axis {} has no elements", axis);
  if (a.attributes.get_or<int64_t>("keepdims", 0) != 0) shape[axis] = 1;
  else shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis));
  return {plain_type(DType::i64, shape)};
}

std::vector<Tensor> eval_argmax(const EvalArgs& a) {
  const std::vector<double> x = a[0].to_doubles();
  const AxisView view =
      around_axis(a[0].shape(), checked_axis(a.attributes.get_or<int64_t>("axis", -1), a[0].shape().size()));
  std::vector<int64_t> where;
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t j = 0; j < view.inner; ++j) {
      const auto at = [&](int64_t i) { return x[static_cast<size_t>((o * view.length + i) * view.inner + j)]; };
      int64_t best = 0;
      for (int64_t i = 1; i < view.length && !std::isnan(at(best)); ++i)
        if (std::isnan(at(i)) || at(i) > at(best)) best = i;
      where.push_back(best);
    }
  return {Tensor::of<int64_t>(sizes_of(a.results[0]), where)};
}

}  // namespace

extern constinit const OpDef argmax_def{
    .name = "argmax",
    .doc = "Index (i64) of the largest element along an axis: the first of equals, the first NaN if there is one.",
    .attributes = kAttributes,
    .infer = infer_argmax,
    .eval = eval_argmax};

}  // namespace hone
