// Pooling: one number for the elements under each place of a window over [N,C,...].
#include <cmath>

#include "ops/elements.h"
#include "ops/rules.h"
#include "ops/sliding_window.h"

namespace hone {
namespace {

constexpr AttributeSpec kKernelAttribute{"kernel_shape", AttributeKind::integers, true,
                                         "extents of the window, one per spatial dimension"};
constexpr AttributeSpec kCountPadAttribute{"count_include_pad", AttributeKind::integer, false,
                                           "1: padding counts as zeros; default 0: the mean is over the elements of x"};
constexpr AttributeSpec kPoolAttributes[] = {kChannelsLastAttribute, kKernelAttribute,    kStridesAttribute,
                                             kPadsAttribute,         kDilationsAttribute, kAutoPadAttribute,
                                             kCeilModeAttribute};
constexpr AttributeSpec kIndicesAttributes[] = {kKernelAttribute,
                                                kStridesAttribute,
                                                kPadsAttribute,
                                                kDilationsAttribute,
                                                kAutoPadAttribute,
                                                kCeilModeAttribute,
                                                {"column_major", AttributeKind::integer, false,
                                                 "1: the first spatial dimension counts fastest; default 0: the last"}};
constexpr AttributeSpec kAvgPoolAttributes[] = {kChannelsLastAttribute, kKernelAttribute,    kStridesAttribute,
                                                kPadsAttribute,         kDilationsAttribute, kAutoPadAttribute,
                                                kCeilModeAttribute,     kCountPadAttribute};
constexpr AttributeSpec kAvgGradientAttributes[] = {
    kChannelsLastAttribute, kKernelAttribute,    kStridesAttribute,
    kPadsAttribute,         kDilationsAttribute, kAutoPadAttribute,
    kCeilModeAttribute,     kCountPadAttribute,  {"sizes", AttributeKind::shape, true, "spatial sizes of x"}};
constexpr AttributeSpec kLpPoolAttributes[] = {
    kKernelAttribute,
    kStridesAttribute,
    kPadsAttribute,
    kDilationsAttribute,
    kAutoPadAttribute,
    kCeilModeAttribute,
    {"p", AttributeKind::integer, false, "the power, at least 1; default 2"}};

SlidingWindow pool_window(const Attributes& attributes) {
  const SlidingWindow window =
      read_sliding_window(attributes, to_shape(attributes.get<std::vector<int64_t>>("kernel_shape")));
  for (size_t i = 0; i < window.pads.size(); ++i)  // otherwise a window could lie in the padding alone
    if (window.pads[i] >= window.reach(i % window.dims()).constant())
      fail("pads holds {}, which must be smaller than the window's reach of {}", window.pads[i],
           window.reach(i % window.dims()).to_string());
  return window;
}

void expect_dimensions(const TensorType& type, const SlidingWindow& window, const char* what) {
  expect_rank(type, window.dims() + 2, window.dims() + 2, what);
}

// The result's shape [N,C,...] for x [N,C,...].
Shape pooled(const SlidingWindow& window, const Shape& x) {
  Shape shape{x[0], x[1]};
  for (const Dim& places : window.places(x)) shape.push_back(places);
  return shape;
}

constexpr const char* kImages = "x [N,C,...] with one spatial dimension per extent of the window";

Shape pooled(const InferArgs& a) {
  const SlidingWindow window = pool_window(a.attributes);
  expect_dimensions(a[0], window, kImages);
  return as_channels_lie(a.attributes, pooled(window, channels_first(a.attributes, a[0].shape)));
}

void expect_number(const TensorType& type) {
  if (!is_float(type.dtype) && !is_integer(type.dtype))
    fail("x is {}; accepted: floats and integers. Insert a cast", to_string(type));
}

std::vector<TensorType> infer_max(const InferArgs& a) {
  expect_number(a[0]);
  return {plain_type(a[0].dtype, pooled(a))};
}

std::vector<TensorType> infer_indices(const InferArgs& a) {
  expect_number(a[0]);
  return {plain_type(DType::i64, pooled(a))};
}

std::vector<TensorType> infer_float_pool(const InferArgs& a) {
  expect_float(a[0], "x");
  return {plain_type(a[0].dtype, pooled(a))};
}

// combine(plane, taps, place) for each place of the window on each plane of x, in order.
template <class Result, class T, class Combine>
std::vector<Result> pool(const EvalArgs& a, const std::vector<T>& x, Combine combine) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const SlidingWindowOnPlane window(pool_window(a.attributes), spatial(a[0].shape()), spatial(sizes));
  std::vector<Result> y;
  for (int64_t plane = 0; plane < sizes[0] * sizes[1]; ++plane)
    for (int64_t place = 0; place < window.places(); ++place)
      y.push_back(combine(x.data() + plane * window.elements(), window.taps(place), window, place));
  return y;
}

template <class T>
struct Largest {
  T value;
  int64_t element;  // in its plane
};

// The first largest element under each place of the window; NaN wins.
template <class T>
std::vector<Largest<T>> largest(const EvalArgs& a, const std::vector<T>& x) {
  return pool<Largest<T>>(a, x,
                          [](const T* plane, const std::vector<Tap>& taps, const SlidingWindowOnPlane&, int64_t place) {
                            if (taps.empty()) fail("the window at place {} lies in the padding alone", place);
                            int64_t best = taps.front().element;
                            for (const Tap& tap : taps)
                              if (plane[best] == plane[best] && !(plane[tap.element] <= plane[best]))
                                best = tap.element;
                            return Largest<T>{plane[best], best};
                          });
}

std::vector<Tensor> eval_max_pool(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const auto values = [&]<class T>(const std::vector<T>& x) {
    std::vector<T> y;
    for (const Largest<T>& each : largest(a, x)) y.push_back(each.value);
    return y;
  };
  if (is_float(a[0].dtype())) return {Tensor::from_doubles(a.results[0].dtype, sizes, values(a[0].to_doubles()))};
  return {Tensor::of<int64_t>(sizes, values(a[0].to_integers())).converted(a.results[0].dtype)};
}

// Position of an element of a plane when its first dimension counts fastest.
int64_t column_major(int64_t element, std::span<const int64_t> extents) {
  int64_t position = 0;
  for (size_t i = extents.size(); i-- > 0; element /= extents[i])
    position = position * extents[i] + element % extents[i];
  return position;
}

template <class T>
std::vector<int64_t> indices(const EvalArgs& a, const std::vector<T>& x) {
  const std::vector<int64_t> extents = spatial(a[0].shape());
  const bool columns = a.attributes.get_or<int64_t>("column_major", 0) != 0;
  const int64_t plane = element_count(extents), places = element_count(spatial(sizes_of(a.results[0])));
  std::vector<int64_t> y;
  for (const Largest<T>& each : largest(a, x)) {
    const int64_t before = static_cast<int64_t>(y.size()) / places * plane;
    y.push_back(before + (columns ? column_major(each.element, extents) : each.element));
  }
  return y;
}

std::vector<Tensor> eval_indices(const EvalArgs& a) {
  return {Tensor::of<int64_t>(sizes_of(a.results[0]),
                              is_float(a[0].dtype()) ? indices(a, a[0].to_doubles()) : indices(a, a[0].to_integers()))};
}

std::vector<Tensor> eval_float_pool(const EvalArgs& a, auto combine) {
  const std::vector<double> y = pool<double>(a, a[0].to_doubles(), combine);
  return {Tensor::from_doubles(a.results[0].dtype, sizes_of(a.results[0]), y)};
}

std::vector<Tensor> eval_avg_pool(const EvalArgs& a) {
  const bool whole = a.attributes.get_or<int64_t>("count_include_pad", 0) != 0;
  return eval_float_pool(
      a, [=](const double* plane, const std::vector<Tap>& taps, const SlidingWindowOnPlane& window, int64_t place) {
        double sum = 0;
        for (const Tap& tap : taps) sum += plane[tap.element];
        return sum / static_cast<double>(whole ? window.padded_taps(place) : static_cast<int64_t>(taps.size()));
      });
}

std::vector<TensorType> infer_lp_pool(const InferArgs& a) {
  expect_positive(a.attributes.get_or<int64_t>("p", 2), "p");
  return infer_float_pool(a);
}

std::vector<Tensor> eval_lp_pool(const EvalArgs& a) {
  const auto p = static_cast<double>(a.attributes.get_or<int64_t>("p", 2));
  return eval_float_pool(a,
                         [=](const double* plane, const std::vector<Tap>& taps, const SlidingWindowOnPlane&, int64_t) {
                           double sum = 0;
                           for (const Tap& tap : taps) sum += std::pow(std::abs(plane[tap.element]), p);
                           return std::pow(sum, 1 / p);
                         });
}

// --- gradients -------------------------------------------------------------------------------------------------------

// d [N,C,...], as channels lie, against what the window gives on x [N,C,...].
void expect_pooled(const InferArgs& a, size_t d, const SlidingWindow& window, const Shape& x) {
  expect_float(a[d], "d");
  expect_dimensions(a[d], window, "d [N,C,...] with one spatial dimension per extent of the window");
  const Shape found = channels_first(a.attributes, a[d].shape), wanted = pooled(window, x);
  for (size_t i = 0; i < wanted.size(); ++i) expect_dim(found[i], wanted[i], "a dimension of d, that of the result,");
}

std::vector<TensorType> infer_max_gradient(const InferArgs& a) {
  const SlidingWindow window = pool_window(a.attributes);
  expect_float(a[0], "x");
  expect_dimensions(a[0], window, kImages);
  expect_pooled(a, 1, window, channels_first(a.attributes, a[0].shape));
  return {plain_type(sum_dtype(a, 0, 1), a[0].shape)};
}

std::vector<Tensor> eval_max_gradient(const EvalArgs& a) {
  const Tensor image = with_channels_first(a.attributes, a[0]), gradient = with_channels_first(a.attributes, a[1]);
  const TensorType pooled_type = gradient.type();
  const std::array<const Tensor*, 1> operands{&image};
  const std::vector<double> d = gradient.to_doubles();
  const int64_t plane = element_count(spatial(image.shape())), places = element_count(spatial(gradient.shape()));
  std::vector<double> x(static_cast<size_t>(image.elements()));
  size_t at = 0;
  for (const Largest<double>& each : largest({operands, a.attributes, {&pooled_type, 1}}, image.to_doubles())) {
    x[static_cast<size_t>(static_cast<int64_t>(at) / places * plane + each.element)] += d[at];
    ++at;
  }
  return {with_channels_as_they_lie(a.attributes, Tensor::from_doubles(a.results[0].dtype, image.shape(), x))};
}

std::vector<TensorType> infer_avg_gradient(const InferArgs& a) {
  const SlidingWindow window = pool_window(a.attributes);
  const Shape& sizes = a.attributes.get<Shape>("sizes");
  if (sizes.size() != window.dims()) fail("sizes has {} items; accepted: {}", sizes.size(), window.dims());
  expect_sizes(sizes, "sizes");
  expect_rank(a[0], sizes.size() + 2, sizes.size() + 2, "d [N,C,...]");
  const Shape d = channels_first(a.attributes, a[0].shape);
  Shape x{d[0], d[1]};
  x.insert(x.end(), sizes.begin(), sizes.end());
  expect_pooled(a, 0, window, x);
  return {plain_type(sum_dtype(a, 0, 0), as_channels_lie(a.attributes, x))};
}

std::vector<Tensor> eval_avg_gradient(const EvalArgs& a) {
  const Tensor gradient = with_channels_first(a.attributes, a[0]);
  const std::vector<int64_t> sizes = constant_shape(channels_first(a.attributes, a.results[0].shape));
  const SlidingWindowOnPlane window(pool_window(a.attributes), spatial(sizes), spatial(gradient.shape()));
  const bool whole = a.attributes.get_or<int64_t>("count_include_pad", 0) != 0;
  const std::vector<double> d = gradient.to_doubles();
  std::vector<double> x(static_cast<size_t>(element_count(sizes)));
  for (int64_t plane = 0; plane < sizes[0] * sizes[1]; ++plane)
    for (int64_t place = 0; place < window.places(); ++place) {
      const std::vector<Tap> taps = window.taps(place);
      const auto count = static_cast<double>(whole ? window.padded_taps(place) : static_cast<int64_t>(taps.size()));
      const double share = d[static_cast<size_t>(plane * window.places() + place)] / count;
      for (const Tap& tap : taps) x[static_cast<size_t>(plane * window.elements() + tap.element)] += share;
    }
  return {with_channels_as_they_lie(a.attributes, Tensor::from_doubles(a.results[0].dtype, sizes, x))};
}

}  // namespace

extern constinit const OpDef max_pool_gradient_def{
    .name = "max_pool_gradient",
    .doc =
        "The gradient of x in max_pool(x) from that of its result, d: each element of d goes to the first largest "
        "element of x[N,C,...] under its place of the window.",
    .operands = {"x", "d"},
    .attributes = kPoolAttributes,
    .infer = infer_max_gradient,
    .eval = eval_max_gradient,
    .no_gradient = "gradients of gradients are not taken"};
extern constinit const OpDef avg_pool_gradient_def{
    .name = "avg_pool_gradient",
    .doc =
        "The gradient [N,C,...] of x in avg_pool(x) from that of its result, d: each element of d is divided by how "
        "many elements its mean is of, and goes to all of them.",
    .operands = {"d"},
    .attributes = kAvgGradientAttributes,
    .infer = infer_avg_gradient,
    .eval = eval_avg_gradient};
extern constinit const OpDef max_pool_def{
    .name = "max_pool",
    .doc = "The largest element under each place of a window on x[N,C,...]; padding never wins, NaN does.",
    .attributes = kPoolAttributes,
    .infer = infer_max,
    .eval = [](const EvalArgs& a) { return eval_channels_first(a, eval_max_pool); }};
extern constinit const OpDef max_pool_indices_def{
    .name = "max_pool_indices",
    .doc = "Where max_pool finds its elements (the first of equal ones), as positions in all of x[N,C,...]: i64.",
    .attributes = kIndicesAttributes,
    .infer = infer_indices,
    .eval = eval_indices,
    .no_gradient = "its results are positions, which change in jumps only"};
extern constinit const OpDef avg_pool_def{
    .name = "avg_pool",
    .doc = "The mean under each place of a window on x[N,C,...]; padding counts as zeros or not at all.",
    .attributes = kAvgPoolAttributes,
    .infer = infer_float_pool,
    .eval = [](const EvalArgs& a) { return eval_channels_first(a, eval_avg_pool); }};
extern constinit const OpDef lp_pool_def{
    .name = "lp_pool",
    .doc = "sum(|x|^p)^(1/p) under each place of a window on x[N,C,...].",
    .attributes = kLpPoolAttributes,
    .infer = infer_lp_pool,
    .eval = eval_lp_pool,
    .no_gradient = "no rule is written for windows of powers; max_pool and avg_pool have one"};

}  // namespace hone
