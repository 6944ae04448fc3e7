// Gradients of conv: conv_input_gradient hands each element of the result's gradient back to what lies under its
// window, conv_weight_gradient sums up what lay under the window, times that element. Both take conv's attributes. They
// are ops of their own, though conv_transpose computes the first where its pads fit, because sizes of x that are
// symbols can't be written as an output_padding, and because a kernel then need not tell the two apart.
#include "base/threads.h"
#include "ops/conv_weights.h"
#include "ops/elements.h"
#include "ops/rules.h"
#include "ops/sliding_window.h"

namespace hone {
namespace {

constexpr AttributeSpec kInputAttributes[] = {
    kStridesAttribute,      kPadsAttribute,
    kDilationsAttribute,    kAutoPadAttribute,
    kGroupsAttribute,       kChannelsLastAttribute,
    kMatrixWindowAttribute, {"sizes", AttributeKind::shape, true, "spatial sizes of x"},
};
constexpr AttributeSpec kWeightAttributes[] = {
    kStridesAttribute,
    kPadsAttribute,
    kDilationsAttribute,
    kAutoPadAttribute,
    kGroupsAttribute,
    kChannelsLastAttribute,
    {"kernel_shape", AttributeKind::integers, true, "extents of the window"},
    {"matrix", AttributeKind::integer, false,
     "1: the result is [O, window * C/groups], the channels of one tap together; default 0: [O,C/groups,...]"},
};

// The gradient d [N,O,...] of what the window gives on x [N,C,...], both with channels second.
void expect_places(const SlidingWindow& window, const Shape& x, const Shape& d, const Dim& outputs) {
  expect_dim(d[0], x[0], "the batch of d, that of x,");
  expect_dim(d[1], outputs, "the channels of d, the rows of w,");
  const Shape places = window.places(x);
  for (size_t i = 0; i < places.size(); ++i)
    expect_dim(d[i + 2], places[i], "a spatial size of d, how often the window stands along x,");
}

int64_t groups_of(const Attributes& attributes) {
  const int64_t groups = attributes.get_or<int64_t>("groups", 1);
  expect_positive(groups, "groups");
  return groups;
}

void expect_groups(const Dim& channels, int64_t groups, const char* what) {
  if (channels.is_constant() && channels.constant() % groups != 0)
    fail("{} {} channels do not fall into {} groups", channels.constant(), what, groups);
}

// --- of x ------------------------------------------------------------------------------------------------------------

std::vector<TensorType> infer_input_gradient(const InferArgs& a) {
  expect_float(a[0], "d");
  expect_float(a[1], "w");
  expect_rank(a[0], 3, 5, "d [N,O,...]");
  if (a.attributes.has("kernel_shape")) expect_rank(a[1], 2, 2, "w [O,window*C/groups]");
  else expect_rank(a[1], a[0].rank(), a[0].rank(), "w [O,C/groups,...]");
  const Shape w = conv_weight_shape(a.attributes, a[1].shape), &sizes = a.attributes.get<Shape>("sizes");
  for (size_t rank : {w.size(), sizes.size() + 2})
    if (rank != a[0].rank())
      fail("d has {} spatial dimensions, the window {} and sizes {}", a[0].rank() - 2, w.size() - 2, sizes.size());
  expect_sizes(sizes, "sizes");
  const int64_t groups = groups_of(a.attributes);
  expect_groups(w[0], groups, "output");
  Shape x{a[0].shape[0], w[1] * groups};
  x.insert(x.end(), sizes.begin(), sizes.end());
  expect_places(read_sliding_window(a.attributes, spatial(w)), x, channels_first(a.attributes, a[0].shape), w[0]);
  return {plain_type(sum_dtype(a, 0, 1), as_channels_lie(a.attributes, x))};
}

std::vector<Tensor> eval_input_gradient(const EvalArgs& a) {
  const Tensor gradient = with_channels_first(a.attributes, a[0]), weights = conv_weights(a.attributes, a[1]);
  const std::vector<int64_t> sizes = constant_shape(channels_first(a.attributes, a.results[0].shape));
  const SlidingWindowOnPlane window(read_sliding_window(a.attributes, to_shape(spatial(weights.shape()))),
                                    spatial(sizes), spatial(gradient.shape()));
  const std::vector<double> d = gradient.to_doubles(), w = weights.to_doubles();
  const int64_t groups = groups_of(a.attributes), outputs = gradient.dim(1), channels = sizes[1];
  const int64_t group_outputs = outputs / groups, group_channels = channels / groups;
  std::vector<double> x(static_cast<size_t>(element_count(sizes)));
  parallel_for(sizes[0] * channels, [&](int64_t at) {
    const int64_t image = at / channels, c = at % channels, group = c / group_channels;
    double* plane = x.data() + at * window.elements();
    for (int64_t place = 0; place < window.places(); ++place) {
      const std::vector<Tap> taps = window.taps(place);
      for (int64_t o = group * group_outputs; o < (group + 1) * group_outputs; ++o) {
        const double factor = d[static_cast<size_t>((image * outputs + o) * window.places() + place)];
        const double* row = w.data() + (o * group_channels + c % group_channels) * window.kernel();
        for (const Tap& tap : taps) plane[tap.element] += factor * row[tap.kernel];
      }
    }
  });
  return {with_channels_as_they_lie(a.attributes, Tensor::from_doubles(a.results[0].dtype, sizes, x))};
}

Dim input_gradient_flops(const InferArgs& a) {
  const Shape w = conv_weight_shape(a.attributes, a[1].shape);
  return 2 * element_count(a[0].shape) * w[1] * element_count(spatial(w));
}

// --- of w ------------------------------------------------------------------------------------------------------------

std::vector<TensorType> infer_weight_gradient(const InferArgs& a) {
  expect_float(a[0], "d");
  expect_float(a[1], "x");
  const Shape kernel = to_shape(a.attributes.get<std::vector<int64_t>>("kernel_shape"));
  const SlidingWindow window = read_sliding_window(a.attributes, kernel);
  for (size_t i : {0, 1})
    expect_rank(a[i], kernel.size() + 2, kernel.size() + 2,
                i == 0 ? "d [N,O,...], with one spatial dimension per extent of the window,"
                       : "x [N,C,...], with one spatial dimension per extent of the window,");
  const Shape d = channels_first(a.attributes, a[0].shape), x = channels_first(a.attributes, a[1].shape);
  const int64_t groups = groups_of(a.attributes);
  expect_groups(d[1], groups, "output");
  expect_groups(x[1], groups, "input");
  expect_places(window, x, d, d[1]);
  Shape w{d[1], floordiv(x[1], groups)};
  if (a.attributes.get_or<int64_t>("matrix", 0) != 0) w[1] = w[1] * element_count(kernel);
  else w.insert(w.end(), kernel.begin(), kernel.end());
  return {plain_type(sum_dtype(a, 0, 1), w)};
}

std::vector<Tensor> eval_weight_gradient(const EvalArgs& a) {
  const Tensor gradient = with_channels_first(a.attributes, a[0]), image = with_channels_first(a.attributes, a[1]);
  const std::vector<int64_t> kernel = a.attributes.get<std::vector<int64_t>>("kernel_shape");
  const SlidingWindowOnPlane window(read_sliding_window(a.attributes, to_shape(kernel)), spatial(image.shape()),
                                    spatial(gradient.shape()));
  const std::vector<double> d = gradient.to_doubles(), x = image.to_doubles();
  const int64_t groups = groups_of(a.attributes), outputs = gradient.dim(1), channels = image.dim(1);
  const int64_t group_outputs = std::max<int64_t>(outputs / groups, 1), group_channels = channels / groups;
  std::vector<int64_t> sizes{outputs, group_channels};
  sizes.insert(sizes.end(), kernel.begin(), kernel.end());
  std::vector<double> w(static_cast<size_t>(element_count(sizes)));
  parallel_for(outputs, [&](int64_t o) {
    for (int64_t n = 0; n < gradient.dim(0); ++n)
      for (int64_t place = 0; place < window.places(); ++place) {
        const double factor = d[static_cast<size_t>((n * outputs + o) * window.places() + place)];
        const std::vector<Tap> taps = window.taps(place);
        for (int64_t c = 0; c < group_channels; ++c) {
          const double* plane = x.data() + (n * channels + o / group_outputs * group_channels + c) * window.elements();
          double* row = w.data() + (o * group_channels + c) * window.kernel();
          for (const Tap& tap : taps) row[tap.kernel] += factor * plane[tap.element];
        }
      }
  });
  const Tensor result = Tensor::from_doubles(a.results[0].dtype, sizes, w);
  return {a.attributes.get_or<int64_t>("matrix", 0) != 0 ? conv_weight_matrix(result) : result};
}

Dim weight_gradient_flops(const InferArgs& a) {
  const Shape x = channels_first(a.attributes, a[1].shape);
  const Dim taps = element_count(to_shape(a.attributes.get<std::vector<int64_t>>("kernel_shape")));
  return 2 * element_count(a[0].shape) * floordiv(x[1], groups_of(a.attributes)) * taps;
}

}  // namespace

extern constinit const OpDef conv_input_gradient_def{
    .name = "conv_input_gradient",
    .doc =
        "The gradient [N,C,...] of x in conv(x, w) from that of its result, d[N,O,...], and w[O,C/groups,...]: each "
        "element of d times the weights, summed where the window lay. f32 (f64 where an operand is).",
    .operands = {"d", "w"},
    .attributes = kInputAttributes,
    .infer = infer_input_gradient,
    .eval = eval_input_gradient,
    .flops = input_gradient_flops};
extern constinit const OpDef conv_weight_gradient_def{
    .name = "conv_weight_gradient",
    .doc =
        "The gradient [O,C/groups,...] of w in conv(x, w) from that of its result, d[N,O,...], and x[N,C,...]: what "
        "lay under each tap of the window times d, summed over images and places. f32 (f64 where an operand is).",
    .operands = {"d", "x"},
    .attributes = kWeightAttributes,
    .infer = infer_weight_gradient,
    .eval = eval_weight_gradient,
    .flops = weight_gradient_flops};

}  // namespace hone
