// conv: cross-correlation over 1 to 3 spatial dimensions, as ONNX Conv and PyTorch; deform_conv: the same with a window
// whose taps are moved. Both gather what lies under the window, one patch per group, and multiply it by the weights.
#include "base/threads.h"
#include "ops/conv_weights.h"
#include "ops/elements.h"
#include "ops/interpolation.h"
#include "ops/rules.h"
#include "ops/sliding_window.h"

namespace hone {
namespace {

constexpr AttributeSpec kConvAttributes[] = {kStridesAttribute,      kPadsAttribute,   kDilationsAttribute,
                                             kAutoPadAttribute,      kGroupsAttribute, kChannelsLastAttribute,
                                             kMatrixWindowAttribute, kPlanesAttribute};
constexpr AttributeSpec kDeformAttributes[] = {
    kStridesAttribute,
    kPadsAttribute,
    kDilationsAttribute,
    kGroupsAttribute,
    {"offset_groups", AttributeKind::integer, false, "channels of x fall into this many that move alike; default 1"}};

// The result [N,O,...] of x [N,C,...], w [O,C/groups,...] and, at `bias`, b [O].
Shape convolved(const InferArgs& a, size_t bias) {
  expect_rank(a[0], 3, 5, "x [N,C,...]");
  if (a.attributes.has("kernel_shape")) {
    const auto dims = a.attributes.get<std::vector<int64_t>>("kernel_shape").size();
    expect_rank(a[1], 2, 2, "w [O,window*C/groups]");
    expect_rank(a[0], dims + 2, dims + 2, "x [N,C,...] with one spatial dimension per extent of the window");
  } else {
    expect_rank(a[1], a[0].rank(), a[0].rank(), "w [O,C/groups,...]");
  }
  const Shape x = channels_first(a.attributes, a[0].shape), w = conv_weight_shape(a.attributes, a[1].shape);
  const int64_t groups = a.attributes.get_or<int64_t>("groups", 1);
  expect_positive(groups, "groups");
  expect_dim(w[1] * groups, x[1], "the channels of w times groups, the channels of x,");
  if (const int64_t planes = a.attributes.get_or<int64_t>("planes", 1); planes != 1)
    if (planes < 1 || groups > 1 || !w[1].is_constant() || w[1].constant() % planes != 0)
      fail("{} planes of {} channels in {} groups; accepted: a divisor of the channels, or 1 in groups", planes,
           w[1].to_string(), groups);
  if (w[0].is_constant() && w[0].constant() % groups != 0)
    fail("{} output channels do not fall into {} groups", w[0].constant(), groups);
  if (a.has(bias)) {
    expect_added(a[bias], products_dtype(a), "b");
    expect_rank(a[bias], 1, 1, "b");
    expect_dim(a[bias].shape[0], w[0], "the length of b, one per output channel,");
  }
  Shape shape{x[0], w[0]};
  for (const Dim& dim : read_sliding_window(a.attributes, spatial(w)).places(x)) shape.push_back(dim);
  return as_channels_lie(a.attributes, shape);
}

SlidingWindowOnPlane window_on(const EvalArgs& a) {
  const SlidingWindow window = read_sliding_window(a.attributes, spatial(to_shape(a[1].shape())));
  return SlidingWindowOnPlane(window, spatial(a[0].shape()), spatial(sizes_of(a.results[0])));
}

// fill(patch, image, place) writes the elements [C, taps] that the window sees into a patch of `padding`.
template <class T, class Fill>
std::vector<T> products_of_patches(const EvalArgs& a, const SlidingWindowOnPlane& window, const std::vector<T>& w,
                                   std::vector<T> b, T padding, Fill fill) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  b.resize(static_cast<size_t>(sizes[1]));  // zeros where there is none
  const int64_t groups = a.attributes.get_or<int64_t>("groups", 1), places = window.places();
  const int64_t outputs = sizes[1], row = a[1].dim(1) * window.kernel();
  std::vector<T> y(static_cast<size_t>(element_count(sizes)));
  parallel_for(sizes[0] * places, [&](int64_t at) {
    const int64_t image = at / places, place = at % places;
    std::vector<T> patch(static_cast<size_t>(groups * row), padding);
    fill(patch, image, place);
    for (int64_t o = 0; o < outputs; ++o) {
      const T* part = patch.data() + o / (outputs / groups) * row;
      y[static_cast<size_t>((image * outputs + o) * places + place)] =
          dot(part, w.data() + o * row, row) + b[static_cast<size_t>(o)];
    }
  });
  return y;
}

template <class Fill>
std::vector<Tensor> eval_patches(const EvalArgs& a, const SlidingWindowOnPlane& window, size_t bias, Fill fill) {
  const std::vector<double> b = a.has(bias) ? a[bias].to_doubles() : std::vector<double>();
  return {Tensor::from_doubles(a.results[0].dtype, sizes_of(a.results[0]),
                               products_of_patches(a, window, a[1].to_doubles(), b, 0.0, fill))};
}

template <class T>
std::vector<T> convolve(const EvalArgs& a, const std::vector<T>& x, const std::vector<T>& w, std::vector<T> b,
                        T padding = 0) {
  const SlidingWindowOnPlane window = window_on(a);
  const int64_t channels = a[0].dim(1);
  const auto fill = [&](std::vector<T>& patch, int64_t image, int64_t place) {
    const std::vector<Tap> taps = window.taps(place);
    for (int64_t c = 0; c < channels; ++c)
      for (const Tap& tap : taps)
        patch[static_cast<size_t>(c * window.kernel() + tap.kernel)] =
            x[static_cast<size_t>((image * channels + c) * window.elements() + tap.element)];
  };
  return products_of_patches(a, window, w, std::move(b), padding, fill);
}

std::vector<Tensor> eval_conv(const EvalArgs& a) {
  const DType dtype = a.results[0].dtype;
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  if (is_float(dtype))
    return {Tensor::from_doubles(
        dtype, sizes,
        convolve(a, a[0].to_doubles(), a[1].to_doubles(), a.has(2) ? a[2].to_doubles() : std::vector<double>()))};
  const std::vector<int64_t> y =
      convolve(a, a[0].to_integers(), a[1].to_integers(), a.has(2) ? a[2].to_integers() : std::vector<int64_t>(),
               a.has(3) ? a[3].to_integers()[0] : 0);
  return {Tensor::of<int64_t>(sizes, y).converted(dtype)};  // wraps
}

std::vector<Tensor> eval_conv_of_any_layout(const EvalArgs& a) {
  const int64_t planes = a.attributes.get_or<int64_t>("planes", 1);
  if (a[1].shape().size() != 2 && planes == 1) return eval_channels_first(a, eval_conv);
  Tensor w = conv_weights(a.attributes, a[1]);
  if (planes > 1) w = with_planes_apart(w, planes);
  std::vector<const Tensor*> operands(a.operands.begin(), a.operands.end());
  operands[1] = &w;
  Attributes attributes = a.attributes;
  attributes.erase("kernel_shape");
  return eval_channels_first({operands, attributes, a.results}, eval_conv);
}

std::vector<TensorType> infer_conv(const InferArgs& a) {
  const DType dtype = products_dtype(a);
  if (a.has(3)) {
    if (is_float(dtype)) fail("x_zero is given beside floats, whose padding is 0");
    if (a[3].dtype != a[0].dtype)
      fail("x_zero is {} beside x {}; it is a code like those", to_string(a[3]), to_string(a[0]));
    expect_rank(a[3], 0, 0, "x_zero");
  }
  return {plain_type(dtype, convolved(a, 2))};
}

// Channels: of weights [O,C/groups,...], too, but those that are a matrix.
int64_t channel_axis(const Attributes& attributes, size_t) { return channels_last(attributes) ? -1 : 1; }

Dim conv_flops(const InferArgs& a) {
  const Shape w = conv_weight_shape(a.attributes, a[1].shape);
  return 2 * element_count(convolved(a, 5)) * w[1] * element_count(spatial(w));
}

// offset [N, offset_groups*kh*kw*2, oh, ow] and mask [N, offset_groups*kh*kw, oh, ow].
std::vector<TensorType> infer_deform_conv(const InferArgs& a) {
  expect_float(a[0], "x");
  expect_float(a[1], "w");
  expect_rank(a[0], 4, 4, "x [N,C,H,W]");
  const Shape shape = convolved(a, 3);
  const int64_t groups = a.attributes.get_or<int64_t>("offset_groups", 1);
  expect_positive(groups, "offset_groups");
  const Dim& channels = a[0].shape[1];
  if (channels.is_constant() && channels.constant() % groups != 0)
    fail("{} channels of x do not fall into {} offset_groups", channels.constant(), groups);
  const Dim taps = groups * element_count(spatial(a[1].shape));
  for (size_t i : {2, 4}) {
    if (!a.has(i)) continue;
    const char* what = i == 2 ? "offset [N,groups*kh*kw*2,oh,ow]" : "mask [N,groups*kh*kw,oh,ow]";
    expect_float(a[i], what);
    expect_rank(a[i], 4, 4, what);
    const Shape wanted{shape[0], i == 2 ? 2 * taps : taps, shape[2], shape[3]};
    for (size_t d = 0; d < 4; ++d) expect_dim(a[i].shape[d], wanted[d], what);
  }
  return {plain_type(sum_dtype(a, 0, 1), shape)};
}

// The plane between its elements, linear along both dimensions; zero outside.
double bilinear(const double* plane, int64_t height, int64_t width, double y, double x) {
  const double top = std::floor(y), left = std::floor(x);
  double sum = 0;
  for (double row : {top, top + 1})
    for (double column : {left, left + 1})
      if (row >= 0 && row < static_cast<double>(height) && column >= 0 && column < static_cast<double>(width))
        sum += plane[static_cast<int64_t>(row) * width + static_cast<int64_t>(column)] * linear_weight(y - row) *
               linear_weight(x - column);
  return sum;
}

std::vector<Tensor> eval_deform_conv(const EvalArgs& a) {
  const SlidingWindowOnPlane window = window_on(a);
  const std::vector<int64_t> dilations = integers_or(a.attributes, "dilations", {1, 1}, 2, 1);
  const std::vector<double> x = a[0].to_doubles(), offset = a[2].to_doubles(),
                            mask = a.has(4) ? a[4].to_doubles() : std::vector<double>();
  const int64_t channels = a[0].dim(1), height = a[0].dim(2), width = a[0].dim(3), taps = window.kernel();
  const int64_t groups = a.attributes.get_or<int64_t>("offset_groups", 1);
  return eval_patches(a, window, 3, [&](std::vector<double>& patch, int64_t image, int64_t place) {
    const std::array<int64_t, 3> start = window.start(place);
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t moved = (image * groups + c / (channels / groups)) * taps + t;
        const auto at = [&](int64_t plane) { return static_cast<size_t>(plane * window.places() + place); };
        const auto row = static_cast<double>(start[1] + t / a[1].dim(3) * dilations[0]) + offset[at(2 * moved)];
        const auto column = static_cast<double>(start[2] + t % a[1].dim(3) * dilations[1]) + offset[at(2 * moved + 1)];
        patch[static_cast<size_t>(c * taps + t)] =
            bilinear(x.data() + (image * channels + c) * height * width, height, width, row, column) *
            (mask.empty() ? 1 : mask[at(moved)]);
      }
  });
}

}  // namespace

extern constinit const OpDef conv_def{
    .name = "conv",
    .doc =
        "Cross-correlation of x[N,C,...] with w[O,C/groups,...], plus b[O], over 1 to 3 spatial dimensions: f32 (f64 "
        "where an operand is). Integers of 8 bits have sums and b of i32, which wrap, and see the code x_zero "
        "(0 if absent) outside x. Generated code reads channels_last and w as a matrix.",
    .operands = {factor("x"), factor(weight("w")), optional(bias("b")), optional("x_zero")},
    .attributes = kConvAttributes,
    .infer = infer_conv,
    .eval = eval_conv_of_any_layout,
    .summed_axis = channel_axis,
    .flops = conv_flops};
extern constinit const OpDef deform_conv_def{
    .name = "deform_conv",
    .doc =
        "conv of x[N,C,H,W] with w[O,C/groups,kh,kw] whose tap t (of T = kh*kw) is moved by offset[N,G*T*2,oh,ow] "
        "(down, "
        "right; G offset_groups), linear between elements and zero outside x, times mask[N,G*T,oh,ow], plus b[O]: "
        "operands x, w, offset, b, mask.",
    .operands = {"x", "w", "offset", optional("b"), optional("mask")},
    .attributes = kDeformAttributes,
    .infer = infer_deform_conv,
    .eval = eval_deform_conv,
    .no_gradient = "no rule is written for offsets that are computed",
    .flops = conv_flops};

}  // namespace hone
