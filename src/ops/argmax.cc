// argmax and argmin: where the extreme along an axis is.
#include "ops/elements.h"
#include "ops/rules.h"
#include "ops/transposed.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"axis", AttributeKind::integer, false, "default -1"},
    {"keepdims", AttributeKind::integer, false, "1: the axis stays with length 1; default 0: it goes"},
    {"select_last_index", AttributeKind::integer, false, "1: the last of equals; default 0: the first"},
};

size_t axis_of(const Attributes& attributes, size_t rank) {
  return checked_axis(attributes.get_or<int64_t>("axis", -1), rank);
}

std::vector<TensorType> infer_position(const InferArgs& a) {
  if (a[0].dtype == DType::boolean || a[0].dtype == DType::string)
    fail("x is {}; accepted: floats and integers. Insert a cast", to_string(a[0]));
  const size_t axis = axis_of(a.attributes, a[0].rank());
  Shape shape = a[0].shape;
  if (shape[axis] == Dim(0)) fail("axis {} has no elements", axis);
  if (a.attributes.get_or<int64_t>("keepdims", 0) != 0) shape[axis] = 1;
  else shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis));
  return {plain_type(DType::i64, shape)};
}

// The element that no other along the axis is better than.
template <class Better>
std::vector<Tensor> eval_position(const EvalArgs& a, Better better) {
  const AxisView view = around_axis(a[0].shape(), axis_of(a.attributes, a[0].shape().size()));
  const bool last = a.attributes.get_or<int64_t>("select_last_index", 0) != 0;
  std::vector<int64_t> where;
  with_elements(a[0], [&](const auto& x) {
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t j = 0; j < view.inner; ++j) {
        check_stop();
        const auto at = [&](int64_t i) { return x[static_cast<size_t>((o * view.length + i) * view.inner + j)]; };
        int64_t best = 0;
        for (int64_t i = 1; i < view.length; ++i)
          if (better(at(i), at(best)) || (last && !better(at(best), at(i)))) best = i;
        where.push_back(best);
      }
  });
  return {Tensor::of<int64_t>(sizes_of(a.results[0]), where)};
}

// NaN is better than every number.
constexpr auto kGreater = [](auto x, auto y) { return x != x ? y == y : x > y; };
constexpr auto kLess = [](auto x, auto y) { return x != x ? y == y : x < y; };

// argmax and argmin give positions along one axis.
std::optional<Transposed> transposed_rule(const TransposeArgs& a) {
  Transposed other{&a.op, a.attributes, a.perm};
  const size_t axis = checked_axis(a.attributes.get_or<int64_t>("axis", -1), a.perm.size());
  other.attributes.set("axis", a.perm[axis]);
  if (a.attributes.get_or<int64_t>("keepdims", 0) == 0) other.result = without(a.perm, {a.perm[axis]});
  return other;
}

}  // namespace

extern constinit const OpDef argmax_def{
    .name = "argmax",
    .doc = "Index (i64) of the largest element along an axis: the first of equals, the first NaN if there is one.",
    .attributes = kAttributes,
    .infer = infer_position,
    .eval = [](const EvalArgs& a) { return eval_position(a, kGreater); },
    .transposed = transposed_rule,
    .no_gradient = "its results are positions, which change in jumps only"};
extern constinit const OpDef argmin_def{
    .name = "argmin",
    .doc = "Index (i64) of the smallest element along an axis: the first of equals, the first NaN if there is one.",
    .attributes = kAttributes,
    .infer = infer_position,
    .eval = [](const EvalArgs& a) { return eval_position(a, kLess); },
    .transposed = transposed_rule,
    .no_gradient = "its results are positions, which change in jumps only"};

}  // namespace hone
