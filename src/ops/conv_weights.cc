#include "ops/conv_weights.h"

#include "ops/elements.h"
#include "ops/rules.h"
#include "ops/sliding_window.h"

namespace hone {

Shape conv_weight_shape(const Attributes& attributes, const Shape& w) {
  if (w.size() != 2) return w;
  const Shape kernel = to_shape(attributes.get<std::vector<int64_t>>("kernel_shape"));
  const Dim taps = element_count(kernel);
  Shape shape{w[0], floordiv(w[1], taps.constant())};
  expect_dim(shape[1] * taps, w[1], "the extents of the window times channels, the columns of w,");
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  return shape;
}

Tensor conv_weights(const Attributes& attributes, const Tensor& w) {
  if (w.shape().size() != 2) return plain(w);
  const std::vector<int64_t> sizes = constant_shape(conv_weight_shape(attributes, to_shape(w.shape())));
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = sizes[1];
  for (size_t i = sizes.size(); i-- > 2; stride *= sizes[i]) strides[i] = stride;
  strides[0] = stride, strides[1] = 1;
  return copy_strided(plain(w), sizes, strides);
}

Tensor with_planes_apart(const Tensor& w, int64_t planes) {
  const int64_t channels = w.dim(1) / planes, taps = element_count(spatial(w.shape()));
  return copy_strided(w, {w.dim(0), planes, channels, taps},
                      std::vector<int64_t>{w.dim(1) * taps, taps, planes * taps, 1})
      .reshaped(w.shape());
}

Tensor conv_weight_matrix(const Tensor& w) {
  const int64_t taps = element_count(spatial(w.shape()));
  return copy_strided(w, {w.dim(0), taps, w.dim(1)}, std::vector<int64_t>{w.dim(1) * taps, 1, taps})
      .reshaped({w.dim(0), taps * w.dim(1)});
}

}  // namespace hone
