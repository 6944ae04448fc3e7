// top_k: the largest or smallest elements along an axis and where they are.
#include <algorithm>
#include <numeric>

#include "ops/elements.h"
#include "ops/order_keys.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"k", AttributeKind::shape, false, "how many, one value; here or as the second operand"},
    {"axis", AttributeKind::integer, false, "default -1"},
    {"largest", AttributeKind::integer, false, "1 (default): the largest elements; 0: the smallest"},
};

std::vector<TensorType> infer_top_k(const InferArgs& a) {
  const size_t axis = checked_axis(a.attributes.get_or<int64_t>("axis", -1), a[0].rank());
  const Shape k = dims_argument(a, 1, "k").value_or(Shape{Dim::unknown()});
  if (k.size() != 1) fail("k has {} values; accepted: 1", k.size());
  Shape shape = a[0].shape;
  const Dim room = shape[axis] - k[0];
  if ((k[0].is_constant() && k[0].constant() < 0) || (room.is_constant() && room.constant() < 0))
    fail("k is {}; accepted: 0 to {}, the length of axis {}", k[0].to_string(), shape[axis].to_string(), axis);
  shape[axis] = k[0];
  return {plain_type(a[0].dtype, shape), plain_type(DType::i64, shape)};
}

std::vector<Tensor> eval_top_k(const EvalArgs& a) {
  const Tensor x = plain(a[0]);
  const std::vector<int64_t> keys = order_keys(x), sizes = sizes_of(a.results[0]);
  const size_t axis = checked_axis(a.attributes.get_or<int64_t>("axis", -1), sizes.size());
  const bool largest = a.attributes.get_or<int64_t>("largest", 1) != 0;
  const AxisView view = around_axis(x.shape(), axis), out = around_axis(sizes, axis);
  std::vector<int64_t> positions(static_cast<size_t>(element_count(sizes))), indices = positions;
  for (int64_t o = 0; o < out.outer; ++o)
    for (int64_t j = 0; j < out.inner; ++j) {
      const auto position = [&](int64_t i) { return (o * view.length + i) * view.inner + j; };
      const auto key = [&](int64_t i) { return keys[static_cast<size_t>(position(i))]; };
      std::vector<int64_t> order(static_cast<size_t>(view.length));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t p, int64_t q) {
        check_stop();
        return largest ? key(p) > key(q) : key(p) < key(q);
      });
      for (int64_t i = 0; i < out.length; ++i) {
        const auto at = static_cast<size_t>((o * out.length + i) * out.inner + j);
        indices[at] = order[static_cast<size_t>(i)];
        positions[at] = position(indices[at]);
      }
    }
  return {take(x, sizes, positions), Tensor::of<int64_t>(sizes, indices)};
}

}  // namespace

extern constinit const OpDef top_k_def{.name = "top_k",
                                       .doc =
                                           "The k largest or smallest elements along an axis, in order, and their "
                                           "indices (i64); of equal elements the first. NaN is the largest.",
                                       .operands = {"x", computed("computed_k")},
                                       .attributes = kAttributes,
                                       .results = 2,
                                       .infer = infer_top_k,
                                       .eval = eval_top_k};

}  // namespace hone
