// max_unpool: the elements that max_pool kept, back where max_pool_indices found them, zeros around them.
#include <cstring>

#include "ops/elements.h"
#include "ops/rules.h"
#include "ops/sliding_window.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"kernel_shape", AttributeKind::integers, true, "extents of the pool's window"},
    kStridesAttribute,
    kPadsAttribute,
    {"output_shape", AttributeKind::shape, false,
     "[N,C,...] of the result, which has more zeros at the end of each dimension"},
};

// The smallest tensor that the pool may have had: indices are positions in it.
Shape pooled_from(const Attributes& attributes, const Shape& x) {
  const SlidingWindow window =
      read_sliding_window(attributes, to_shape(attributes.get<std::vector<int64_t>>("kernel_shape")));
  Shape shape{x[0], x[1]};
  for (size_t i = 0; i < window.dims(); ++i)
    shape.push_back((x[i + 2] - 1) * window.strides[i] + window.reach(i) - window.pads[i] -
                    window.pads[i + window.dims()]);
  return shape;
}

std::vector<TensorType> infer_max_unpool(const InferArgs& a) {
  expect_not_string(a[0], "x");
  expect_index(a[1], "indices");
  const size_t rank = a.attributes.get<std::vector<int64_t>>("kernel_shape").size() + 2;
  expect_rank(a[0], rank, rank, "x [N,C,...] with one spatial dimension per extent of the window");
  expect_rank(a[1], rank, rank, "indices, of the shape of x,");
  for (size_t i = 0; i < rank; ++i) expect_dim(a[1].shape[i], a[0].shape[i], "each dimension of indices, that of x,");
  const Shape from = pooled_from(a.attributes, a[0].shape);
  if (!a.attributes.has("output_shape") && !a.has(2)) return {plain_type(a[0].dtype, from)};
  const std::optional<Shape> wanted = dims_argument(a, 2, "output_shape");
  if (!wanted) return {plain_type(a[0].dtype, Shape(rank, Dim::unknown()))};
  if (wanted->size() != rank)
    fail("output_shape {} has {} sizes; accepted: {}", to_string(*wanted), wanted->size(), rank);
  for (size_t i = 0; i < rank; ++i)
    if (const Dim room = (*wanted)[i] - from[i]; room.is_constant() && room.constant() < 0)
      fail("output_shape {} is smaller than what the window was on, {}", to_string(*wanted), to_string(from));
  return {plain_type(a[0].dtype, *wanted)};
}

std::vector<Tensor> eval_max_unpool(const EvalArgs& a) {
  const Tensor x = plain(a[0]);
  const std::vector<int64_t> from = constant_shape(pooled_from(a.attributes, to_shape(x.shape()))),
                             indices = a[1].to_integers();
  std::vector<int64_t> places;  // in the result, of each element of `from`
  for_each_offset(from, strides_of(sizes_of(a.results[0])), [&](int64_t at) { places.push_back(at); });
  Tensor y(x.dtype(), sizes_of(a.results[0]));
  const auto bytes = static_cast<size_t>(size_bytes(x.dtype()));
  std::byte* to = y.mutable_data();
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= static_cast<int64_t>(places.size()))
      fail("indices holds {}; accepted: 0 to {}, positions in {}", indices[i], places.size() - 1,
           to_string(to_shape(from)));
    std::memcpy(to + static_cast<size_t>(places[static_cast<size_t>(indices[i])]) * bytes,
                x.data().bytes().data() + i * bytes, bytes);
  }
  return {y};
}

}  // namespace

extern constinit const OpDef max_unpool_def{
    .name = "max_unpool",
    .doc =
        "The elements of x[N,C,...] at the positions indices of a tensor of zeros, from which a pool with this window "
        "would make x. output_shape, an attribute or the third operand, gives more zeros.",
    .operands = {"x", "indices", computed("computed_shape")},
    .attributes = kAttributes,
    .infer = infer_max_unpool,
    .eval = eval_max_unpool,
    .no_gradient = "no rule is written; its positions may repeat, and the last element stays"};

}  // namespace hone
