// conv_transpose: what conv does, backwards. The window slides over the result: each element of x adds its multiple of
// the weights to the elements of the result under the window at its place.
#include "base/threads.h"
#include "ops/conv_weights.h"
#include "ops/elements.h"
#include "ops/rules.h"
#include "ops/sliding_window.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    kStridesAttribute,
    kPadsAttribute,
    kDilationsAttribute,
    {"auto_pad", AttributeKind::string, false,
     "same_upper, same_lower: the result has size * stride, an odd element cut after or before; default none"},
    kGroupsAttribute,
    {"output_padding", AttributeKind::integers, false, "elements added after each spatial dimension; default 0"},
    {"output_shape", AttributeKind::shape, false, "spatial sizes of the result, from which pads follow"},
};

std::vector<int64_t> output_padding(const Attributes& attributes, size_t dims) {
  return integers_or(attributes, "output_padding", std::vector<int64_t>(dims, 0), dims, 0);
}

// Spatial sizes of the result before anything is cut off.
Shape full_sizes(const SlidingWindow& window, const Shape& x, const Attributes& attributes) {
  const std::vector<int64_t> added = output_padding(attributes, window.dims());
  Shape sizes;
  for (size_t i = 0; i < window.dims(); ++i)
    sizes.push_back(window.strides[i] * (x[i + 2] - 1) + added[i] + window.reach(i));
  return sizes;
}

Shape result_sizes(const SlidingWindow& window, const Shape& x, const Attributes& attributes) {
  Shape sizes = attributes.get_or<Shape>("output_shape", full_sizes(window, x, attributes));
  if (sizes.size() != window.dims())
    fail("output_shape {} has {} sizes; accepted: {}, one per spatial dimension", to_string(sizes), sizes.size(),
         window.dims());
  if (attributes.has("output_shape")) return sizes;
  for (size_t i = 0; i < window.dims(); ++i)
    sizes[i] = window.same == SlidingWindow::Same::no ? sizes[i] - window.pads[i] - window.pads[i + window.dims()]
                                                      : x[i + 2] * window.strides[i];
  return sizes;
}

std::vector<TensorType> infer_conv_transpose(const InferArgs& a) {
  expect_float(a[0], "x");
  expect_float(a[1], "w");
  expect_rank(a[0], 3, 5, "x [N,C,...]");
  expect_rank(a[1], a[0].rank(), a[0].rank(), "w [C,O/groups,...]");
  const Shape &x = a[0].shape, &w = a[1].shape;
  const int64_t groups = a.attributes.get_or<int64_t>("groups", 1);
  expect_positive(groups, "groups");
  expect_dim(w[0], x[1], "the first dimension of w, the channels of x,");
  if (x[1].is_constant() && x[1].constant() % groups != 0)
    fail("{} channels do not fall into {} groups", x[1].constant(), groups);
  if (a.has(2)) {
    expect_float(a[2], "b");
    expect_rank(a[2], 1, 1, "b");
    expect_dim(a[2].shape[0], w[1] * groups, "the length of b, one per output channel,");
  }
  for (size_t i = 2; i < x.size(); ++i)
    if (x[i] == Dim(0)) fail("spatial dimension {} of x has no elements", i - 2);
  Shape shape{x[0], w[1] * groups};
  const Shape sizes = result_sizes(read_sliding_window(a.attributes, spatial(w)), x, a.attributes);
  expect_sizes(sizes, "the result, once the pads are cut off,");
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  return {plain_type(sum_dtype(a, 0, 1), shape)};
}

// How much is cut off before each spatial dimension.
std::vector<int64_t> cut_before(const SlidingWindow& window, const EvalArgs& a) {
  if (window.same == SlidingWindow::Same::no && !a.attributes.has("output_shape"))
    return {window.pads.begin(), window.pads.begin() + static_cast<ptrdiff_t>(window.dims())};
  const std::vector<int64_t> full = constant_shape(full_sizes(window, to_shape(a[0].shape()), a.attributes)),
                             kept = spatial(sizes_of(a.results[0]));
  std::vector<int64_t> before;
  for (size_t i = 0; i < full.size(); ++i) {
    const int64_t cut = std::max<int64_t>(full[i] - kept[i], 0);
    before.push_back(window.same == SlidingWindow::Same::upper ? cut / 2 : cut - cut / 2);
  }
  return before;
}

std::vector<Tensor> eval_conv_transpose(const EvalArgs& a) {
  const SlidingWindow window = read_sliding_window(a.attributes, spatial(to_shape(a[1].shape())));
  const std::vector<int64_t> sizes = sizes_of(a.results[0]), before = cut_before(window, a);
  const SlidingWindowOnPlane result(window, spatial(sizes), spatial(a[0].shape()), before);
  const std::vector<double> x = a[0].to_doubles(), w = a[1].to_doubles(),
                            b = a.has(2) ? a[2].to_doubles() : std::vector<double>(static_cast<size_t>(sizes[1]), 0.0);
  const int64_t inputs = a[0].dim(1), outputs = sizes[1], groups = a.attributes.get_or<int64_t>("groups", 1);
  const int64_t group_inputs = inputs / groups, group_outputs = outputs / groups;
  std::vector<double> y(static_cast<size_t>(element_count(sizes)));
  parallel_for(sizes[0] * outputs, [&](int64_t at) {
    const int64_t image = at / outputs, o = at % outputs, group = o / group_outputs;
    double* plane = y.data() + at * result.elements();
    std::fill_n(plane, result.elements(), b[static_cast<size_t>(o)]);
    for (int64_t place = 0; place < result.places(); ++place) {
      const std::vector<Tap> taps = result.taps(place);
      for (int64_t c = group * group_inputs; c < (group + 1) * group_inputs; ++c) {
        const double factor = x[static_cast<size_t>((image * inputs + c) * result.places() + place)];
        const double* weights = w.data() + (c * group_outputs + o % group_outputs) * result.kernel();
        for (const Tap& tap : taps) plane[tap.element] += factor * weights[tap.kernel];
      }
    }
  });
  return {Tensor::from_doubles(a.results[0].dtype, sizes, y)};
}

Dim conv_transpose_flops(const InferArgs& a) {
  return 2 * element_count(a[0].shape) * a[1].shape[1] * element_count(spatial(a[1].shape));
}

}  // namespace

extern constinit const OpDef conv_transpose_def{
    .name = "conv_transpose",
    .doc =
        "Each element of x[N,C,...] times w[C,O/groups,...], summed where the products lie in the result, plus b[O]: "
        "along each spatial dimension (size - 1) * stride + output_padding + reach of the window - pads.",
    .operands = {"x", "w", optional(bias("b"))},
    .attributes = kAttributes,
    .infer = infer_conv_transpose,
    .eval = eval_conv_transpose,
    .flops = conv_transpose_flops};

}  // namespace hone
