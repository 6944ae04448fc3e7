// unique: the distinct elements of a tensor, or its distinct slices along an axis.
#include <algorithm>
#include <map>
#include <numeric>

#include "ops/elements.h"
#include "ops/order_keys.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"axis", AttributeKind::integer, false, "slices along this axis are compared; default: single elements"},
    {"sorted", AttributeKind::integer, false, "1 (default): in ascending order; 0: in that of their first appearance"},
};

std::vector<TensorType> infer_unique(const InferArgs& a) {
  Shape shape = {Dim::unknown()};
  Dim slices = element_count(a[0].shape);
  if (a.attributes.has("axis")) {
    const size_t axis = checked_axis(a.attributes.get<int64_t>("axis"), a[0].rank());
    shape = a[0].shape;
    slices = std::exchange(shape[axis], Dim::unknown());
  }
  const TensorType found = plain_type(DType::i64, {Dim::unknown()});
  return {plain_type(a[0].dtype, shape), found, plain_type(DType::i64, {slices}), found};
}

struct Slice {
  std::vector<int64_t> members;  // where it appears, in order
  int64_t place = 0;             // in the result
};

Tensor integers(const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values);
}

std::vector<Tensor> eval_unique(const EvalArgs& a) {
  const bool by_axis = a.attributes.has("axis");
  const Tensor x = by_axis ? plain(a[0]) : plain(a[0]).reshaped({a[0].elements()});
  const size_t axis = by_axis ? checked_axis(a.attributes.get<int64_t>("axis"), x.shape().size()) : 0;
  const AxisView view = around_axis(x.shape(), axis);
  const std::vector<int64_t> keys = order_keys(x);

  std::map<std::vector<int64_t>, Slice> slices;  // by the keys of their elements: sorted
  std::vector<Slice*> order, slice_at;
  for (int64_t i = 0; i < view.length; ++i) {
    check_stop();
    std::vector<int64_t> key;
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t j = 0; j < view.inner; ++j)
        key.push_back(keys[static_cast<size_t>((o * view.length + i) * view.inner + j)]);
    const auto [slice, is_new] = slices.try_emplace(std::move(key));
    slice->second.members.push_back(i);
    slice_at.push_back(&slice->second);
    if (is_new) order.push_back(&slice->second);
  }
  if (a.attributes.get_or<int64_t>("sorted", 1) != 0)
    std::transform(slices.begin(), slices.end(), order.begin(), [](auto& item) { return &item.second; });

  std::vector<int64_t> firsts, counts, inverse;
  for (Slice* slice : order) {
    slice->place = static_cast<int64_t>(firsts.size());
    firsts.push_back(slice->members.front());
    counts.push_back(static_cast<int64_t>(slice->members.size()));
  }
  for (const Slice* slice : slice_at) inverse.push_back(slice->place);

  std::vector<int64_t> sizes = x.shape();
  sizes[axis] = static_cast<int64_t>(firsts.size());
  ElementWriter out(x.dtype(), sizes);
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t first : firsts) out.append(x, (o * view.length + first) * view.inner, view.inner);
  return {out.finish(), integers(firsts), integers(inverse), integers(counts)};
}

}  // namespace

extern constinit const OpDef unique_def{.name = "unique",
                                        .doc =
                                            "The distinct elements or slices, where each appears first, which of them "
                                            "every element or slice of x is, and how often each appears.",
                                        .attributes = kAttributes,
                                        .results = 4,
                                        .infer = infer_unique,
                                        .eval = eval_unique,
                                        .no_gradient = "which elements are equal changes in jumps only"};

}  // namespace hone
