// conv2d: cross-correlation over two spatial dimensions, as ONNX Conv and PyTorch.
#include "base/threads.h"
#include "ops/elements.h"
#include "ops/rules.h"
#include "ops/window.h"

namespace hone {
namespace {

constexpr AttributeSpec kConvAttributes[] = {
    {"strides", AttributeKind::integers, false, "height, width; default 1,1"},
    {"pads", AttributeKind::integers, false, "zeros at top, left, bottom, right; default 0,0,0,0"},
    {"dilations", AttributeKind::integers, false, "height, width; default 1,1"},
    {"groups", AttributeKind::integer, false, "channels fall into this many separate convolutions; default 1"},
};

std::vector<TensorType> infer_conv(const InferArgs& a) {
  expect_float(a[0], "x");
  expect_float(a[1], "w");
  expect_rank(a[0], 4, 4, "x [N,C,H,W]");
  expect_rank(a[1], 4, 4, "w [O,C/groups,kh,kw]");
  const Shape &x = a[0].shape, &w = a[1].shape;
  if (!w[2].is_constant() || !w[3].is_constant())
    fail("the window {}x{} of w must be constant", w[2].to_string(), w[3].to_string());
  const int64_t groups = a.attributes.get_or<int64_t>("groups", 1);
  expect_positive(groups, "groups");
  expect_dim(w[1] * groups, x[1], "the channels of w times groups, the channels of x,");
  if (w[0].is_constant() && w[0].constant() % groups != 0)
    fail("{} output channels do not fall into {} groups", w[0].constant(), groups);
  if (a.has(2)) {
    expect_float(a[2], "b");
    expect_rank(a[2], 1, 1, "b");
    expect_dim(a[2].shape[0], w[0], "the length of b, one per output channel,");
  }
  const Window window = read_window(a.attributes, {w[2].constant(), w[3].constant()});
  return {plain_type(sum_dtype(a, 0, 1), {x[0], w[0], window.places(x[2], 0), window.places(x[3], 1)})};
}

struct Convolution {
  Window window;
  std::vector<double> x, w;
  int64_t channels, height, width;      // of x
  int64_t group_inputs, group_outputs;  // channels

  // The sum at output channel o, place (i, j) of image n.
  double at(int64_t n, int64_t o, int64_t i, int64_t j) const {
    const int64_t first_channel = o / group_outputs * group_inputs;
    double sum = 0;
    for (int64_t c = 0; c < group_inputs; ++c)
      for (int64_t u = 0; u < window.kernel[0]; ++u)
        for (int64_t v = 0; v < window.kernel[1]; ++v) {
          const int64_t row = window.position(i, u, 0), column = window.position(j, v, 1);
          if (row < 0 || row >= height || column < 0 || column >= width) continue;
          sum += x[static_cast<size_t>(((n * channels + first_channel + c) * height + row) * width + column)] *
                 w[static_cast<size_t>(((o * group_inputs + c) * window.kernel[0] + u) * window.kernel[1] + v)];
        }
    return sum;
  }
};

std::vector<Tensor> eval_conv(const EvalArgs& a) {
  const int64_t groups = a.attributes.get_or<int64_t>("groups", 1);
  const Convolution conv{read_window(a.attributes, {a[1].dim(2), a[1].dim(3)}),
                         a[0].to_doubles(),
                         a[1].to_doubles(),
                         a[0].dim(1),
                         a[0].dim(2),
                         a[0].dim(3),
                         a[1].dim(1),
                         std::max<int64_t>(a[1].dim(0) / groups, 1)};
  const std::vector<double> b =
      a.has(2) ? a[2].to_doubles() : std::vector<double>(static_cast<size_t>(a[1].dim(0)), 0.0);
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  std::vector<double> y(static_cast<size_t>(element_count(sizes)));
  const int64_t outputs = sizes[1], rows = sizes[2], columns = sizes[3];
  parallel_for(sizes[0] * outputs, [&](int64_t plane) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        y[static_cast<size_t>((plane * rows + i) * columns + j)] =
            conv.at(plane / outputs, plane % outputs, i, j) + b[static_cast<size_t>(plane % outputs)];
  });
  return {Tensor::from_doubles(a.results[0].dtype, sizes, y)};
}

Dim conv_flops(const InferArgs& a) {
  const Shape& w = a[1].shape;
  return 2 * element_count(infer_conv(a)[0].shape) * w[1] * w[2] * w[3];
}

}  // namespace

extern constinit const OpDef conv2d_def{
    .name = "conv2d",
    .doc = "Cross-correlation of x[N,C,H,W] with w[O,C/groups,kh,kw], plus b[O]: f32 (f64 where an operand is).",
    .min_operands = 2,
    .max_operands = 3,
    .attributes = kConvAttributes,
    .infer = infer_conv,
    .eval = eval_conv,
    .codegen = Codegen::conv,
    .flops = conv_flops};

}  // namespace hone
