// center_crop_pad: another size with the middle kept, by cutting off or adding zeros on both sides.
#include <cstring>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"shape", AttributeKind::shape, false, "new sizes along the axes; may be symbolic"},
    {"axes", AttributeKind::integers, false, "default: all, in order"},
};

std::vector<TensorType> infer_center_crop_pad(const InferArgs& a) {
  expect_not_string(a[0], "x");
  Shape shape = a[0].shape;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  axes = a.attributes.get_or<std::vector<int64_t>>("axes", axes);
  const std::optional<Shape> wanted = dims_argument(a, 1, "shape");
  if (wanted && wanted->size() != axes.size()) fail("shape has {} values for {} axes", wanted->size(), axes.size());
  if (wanted) expect_sizes(*wanted, "shape");
  size_t next = 0;
  for (size_t axis : checked_axes(axes, shape.size())) shape[axis] = wanted ? (*wanted)[next++] : Dim::unknown();
  return {plain_type(a[0].dtype, shape)};
}

// Offsets of the elements of a box of `sizes` in the middle of a tensor of `around`.
std::vector<int64_t> middle(const std::vector<int64_t>& around, const std::vector<int64_t>& sizes) {
  const std::vector<int64_t> strides = strides_of(around);
  int64_t first = 0;
  for (size_t i = 0; i < sizes.size(); ++i) first += (around[i] - sizes[i]) / 2 * strides[i];
  std::vector<int64_t> offsets;
  for_each_offset(sizes, strides, [&](int64_t at) { offsets.push_back(first + at); });
  return offsets;
}

std::vector<Tensor> eval_center_crop_pad(const EvalArgs& a) {
  const Tensor x = plain(a[0]);
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  std::vector<int64_t> kept;
  for (size_t i = 0; i < sizes.size(); ++i) kept.push_back(std::min(sizes[i], x.shape()[i]));
  const std::vector<int64_t> from = middle(x.shape(), kept), to = middle(sizes, kept);
  Tensor y(x.dtype(), sizes);
  const auto bytes = static_cast<size_t>(size_bytes(x.dtype()));
  std::byte* out = y.mutable_data();
  for (size_t i = 0; i < from.size(); ++i)
    std::memcpy(out + static_cast<size_t>(to[i]) * bytes,
                x.data().bytes().data() + static_cast<size_t>(from[i]) * bytes, bytes);
  return {y};
}

}  // namespace

extern constinit const OpDef center_crop_pad_def{
    .name = "center_crop_pad",
    .doc =
        "The middle of x along axes that shrink; x in the middle of zeros along axes that grow. An odd element is cut "
        "off or added at the end. The shape is an attribute or the second operand.",
    .operands = {"x", computed("computed_shape")},
    .attributes = kAttributes,
    .infer = infer_center_crop_pad,
    .eval = eval_center_crop_pad};

}  // namespace hone
