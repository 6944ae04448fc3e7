// col2im: columns of windows put back where the windows stood, sums where they overlap.
#include "ops/elements.h"
#include "ops/rules.h"
#include "ops/sliding_window.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"image_shape", AttributeKind::shape, false, "spatial sizes of the result; may be symbolic"},
    {"block_shape", AttributeKind::shape, false, "extents of the window"},
    kStridesAttribute,
    kPadsAttribute,
    kDilationsAttribute};

constexpr int64_t kMostSpatial = 3;

std::vector<TensorType> infer_col2im(const InferArgs& a) {
  expect_not_string(a[0], "x");
  expect_rank(a[0], 3, 3, "x [N,C*elements of the window,places]");
  const std::optional<Shape> image = dims_argument(a, 1, "image_shape"), block = dims_argument(a, 2, "block_shape");
  const Dim rank = image ? Dim(static_cast<int64_t>(image->size())) : a[1].shape.at(0);
  if (image) expect_sizes(*image, "image_shape");
  if (!rank.is_constant()) return {TensorType::unranked(a[0].dtype)};
  Shape shape{a[0].shape[0], Dim::unknown()};
  checked_range(rank.constant(), 1, kMostSpatial, "the number of spatial dimensions");
  for (int64_t i = 0; i < rank.constant(); ++i)
    shape.push_back(image ? (*image)[static_cast<size_t>(i)] : Dim::unknown());
  if (!block) return {plain_type(a[0].dtype, shape)};
  expect_dim(Dim(static_cast<int64_t>(block->size())), rank,
             "the number of values of block_shape, one per value of image_shape,");
  const Dim taps = element_count(*block);
  shape[1] = floordiv(a[0].shape[1], taps);
  expect_dim(a[0].shape[1], shape[1] * taps, "the second dimension of x, a multiple of the window's elements,");
  const Dim places = element_count(read_sliding_window(a.attributes, *block).places(shape));
  expect_dim(a[0].shape[2], places, "the last dimension of x, one column per place of the window,");
  return {plain_type(a[0].dtype, shape)};
}

template <class T>
std::vector<T> summed(const EvalArgs& a, const std::vector<T>& x) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const SlidingWindow window = read_sliding_window(a.attributes, to_shape(integers_argument(a, 2, "block_shape")));
  const SlidingWindowOnPlane image(window, spatial(sizes), constant_shape(window.places(to_shape(sizes))));
  std::vector<T> y(static_cast<size_t>(element_count(sizes)));
  for (int64_t plane = 0; plane < sizes[0] * sizes[1]; ++plane)
    for (int64_t place = 0; place < image.places(); ++place)
      for (const Tap& tap : image.taps(place)) {
        T& sum = y[static_cast<size_t>(plane * image.elements() + tap.element)];
        sum = wrapping_sum(sum, x[static_cast<size_t>((plane * image.kernel() + tap.kernel) * image.places() + place)]);
      }
  return y;
}

std::vector<Tensor> eval_col2im(const EvalArgs& a) {
  const DType dtype = a.results[0].dtype;
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  if (is_float(dtype)) return {Tensor::from_doubles(dtype, sizes, summed(a, a[0].to_doubles()))};
  return {Tensor::of<int64_t>(sizes, summed(a, a[0].to_integers())).converted(dtype)};
}

}  // namespace

extern constinit const OpDef col2im_def{
    .name = "col2im",
    .doc =
        "x[N,C*T,L], the T elements of a window at each of L places, added up where they lie in images [N,C,...]. "
        "Sizes "
        "of image and window are attributes or the operands x, image_shape, block_shape.",
    .operands = {"x", computed("computed_image_shape"), computed("computed_block_shape")},
    .attributes = kAttributes,
    .infer = infer_col2im,
    .eval = eval_col2im,
    .no_gradient = "its gradient would gather overlapping windows, which no op does"};

}  // namespace hone
