// Pooling over windows of two spatial dimensions, NCHW.
#include <cmath>
#include <limits>

#include "ops/elements.h"
#include "ops/rules.h"
#include "ops/window.h"

namespace hone {
namespace {

constexpr AttributeSpec kMaxPoolAttributes[] = {
    {"kernel_shape", AttributeKind::integers, true, "height, width"},
    {"strides", AttributeKind::integers, false, "height, width; default 1,1"},
    {"pads", AttributeKind::integers, false, "top, left, bottom, right, smaller than the window; default 0,0,0,0"},
    {"dilations", AttributeKind::integers, false, "height, width; default 1,1"},
};
constexpr AttributeSpec kAvgPoolAttributes[] = {
    {"kernel_shape", AttributeKind::integers, true, "height, width"},
    {"strides", AttributeKind::integers, false, "height, width; default 1,1"},
    {"pads", AttributeKind::integers, false, "top, left, bottom, right, smaller than the window; default 0,0,0,0"},
    {"dilations", AttributeKind::integers, false, "height, width; default 1,1"},
    {"count_include_pad", AttributeKind::integer, false,
     "1: divide by the whole window; default 0: by its elements inside x"},
};

Window pool_window(const Attributes& attributes) {
  const std::vector<int64_t> kernel = integers_or(attributes, "kernel_shape", {}, 2, 1);
  const Window window = read_window(attributes, {kernel[0], kernel[1]});
  for (size_t i = 0; i < 4; ++i)  // otherwise a window could lie in the padding alone
    if (window.pads[i] >= window.kernel[i % 2])
      fail("pads holds {}, which must be smaller than the window's extent {}", window.pads[i], window.kernel[i % 2]);
  return window;
}

std::vector<TensorType> infer_pool(const InferArgs& a) {
  expect_float(a[0], "x");
  expect_rank(a[0], 4, 4, "x [N,C,H,W]");
  const Window window = pool_window(a.attributes);
  const Shape& x = a[0].shape;
  return {plain_type(a[0].dtype, {x[0], x[1], window.places(x[2], 0), window.places(x[3], 1)})};
}

// Calls combine(accumulated, element) for the elements of each window, from `start`; then finish(accumulated, elements
// in x).
template <class Combine, class Finish>
std::vector<Tensor> pool(const EvalArgs& a, double start, Combine combine, Finish finish) {
  const Window window = pool_window(a.attributes);
  const std::vector<double> x = a[0].to_doubles();
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const int64_t height = a[0].dim(2), width = a[0].dim(3);
  std::vector<double> y;
  for (int64_t plane = 0; plane < sizes[0] * sizes[1]; ++plane)
    for (int64_t i = 0; i < sizes[2]; ++i)
      for (int64_t j = 0; j < sizes[3]; ++j) {
        double value = start;
        int64_t inside = 0;
        for (int64_t u = 0; u < window.kernel[0]; ++u)
          for (int64_t v = 0; v < window.kernel[1]; ++v) {
            const int64_t row = window.position(i, u, 0), column = window.position(j, v, 1);
            if (row < 0 || row >= height || column < 0 || column >= width) continue;
            value = combine(value, x[static_cast<size_t>((plane * height + row) * width + column)]);
            ++inside;
          }
        y.push_back(finish(value, inside));
      }
  return {Tensor::from_doubles(a.results[0].dtype, sizes, y)};
}

std::vector<Tensor> eval_max_pool(const EvalArgs& a) {
  return pool(
      a, -std::numeric_limits<double>::infinity(),
      [](double most, double x) { return std::isnan(most) || most >= x ? most : x; },
      [](double most, int64_t) { return most; });
}

std::vector<Tensor> eval_avg_pool(const EvalArgs& a) {
  const std::vector<int64_t> kernel = a.attributes.get<std::vector<int64_t>>("kernel_shape");
  const bool whole = a.attributes.get_or<int64_t>("count_include_pad", 0) != 0;
  return pool(
      a, 0, [](double sum, double x) { return sum + x; },
      [&](double sum, int64_t inside) { return sum / static_cast<double>(whole ? kernel[0] * kernel[1] : inside); });
}

std::vector<TensorType> infer_global(const InferArgs& a) {
  expect_float(a[0], "x");
  expect_rank(a[0], 4, 4, "x [N,C,H,W]");
  return {plain_type(a[0].dtype, {a[0].shape[0], a[0].shape[1], 1, 1})};
}

std::vector<Tensor> eval_global(const EvalArgs& a) {
  const std::vector<double> x = a[0].to_doubles();
  const int64_t planes = a[0].dim(0) * a[0].dim(1), area = a[0].dim(2) * a[0].dim(3);
  std::vector<double> y(static_cast<size_t>(planes), 0.0);
  for (int64_t p = 0; p < planes; ++p) {
    for (int64_t i = 0; i < area; ++i) y[static_cast<size_t>(p)] += x[static_cast<size_t>(p * area + i)];
    y[static_cast<size_t>(p)] /= static_cast<double>(area);
  }
  return {Tensor::from_doubles(a.results[0].dtype, sizes_of(a.results[0]), y)};
}

}  // namespace

extern constinit const OpDef max_pool2d_def{
    .name = "max_pool2d",
    .doc = "The largest element of each window of x[N,C,H,W]; padding never wins, NaN does.",
    .attributes = kMaxPoolAttributes,
    .infer = infer_pool,
    .eval = eval_max_pool};
extern constinit const OpDef avg_pool2d_def{
    .name = "avg_pool2d",
    .doc = "The mean of each window of x[N,C,H,W]; padding counts as zeros or not at all.",
    .attributes = kAvgPoolAttributes,
    .infer = infer_pool,
    .eval = eval_avg_pool};
extern constinit const OpDef global_avg_pool_def{.name = "global_avg_pool",
                                                 .doc = "The mean of each image plane: x[N,C,H,W] → [N,C,1,1].",
                                                 .infer = infer_global,
                                                 .eval = eval_global};

}  // namespace hone
