// resize: a tensor sampled at other places, axis by axis, as ONNX Resize-19. Each place of the result lies at a
// coordinate of x; the elements around that coordinate are weighted by their distance.
#include <cmath>
#include <numeric>

#include "base/threads.h"
#include "ops/elements.h"
#include "ops/interpolation.h"
#include "ops/moves.h"
#include "ops/read_positions.h"
#include "ops/rules.h"
#include "ops/transposed.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"mode", AttributeKind::string, false, "nearest (default), linear, cubic"},
    {"coordinates", AttributeKind::string, false,
     "where place i of n lies in x: half_pixel (default), half_pixel_symmetric, pytorch_half_pixel, align_corners, "
     "asymmetric, tf_half_pixel_for_nn, tf_crop_and_resize (of the region roi)"},
    {"nearest_mode", AttributeKind::string, false,
     "round_prefer_floor (default), round_prefer_ceil, floor, ceil, ceil_if_smaller (floor where the axis grows)"},
    {"cubic_coeff_a", AttributeKind::number, false, "default -0.75"},
    {"exclude_outside", AttributeKind::integer, false,
     "1: elements outside x weigh nothing; default 0: they equal the outermost"},
    {"antialias", AttributeKind::integer, false,
     "1: where an axis shrinks, linear and cubic weight all elements that a place stands for; default 0"},
    {"extrapolation_value", AttributeKind::number, false, "of places of tf_crop_and_resize outside x; default 0"},
    {"axes", AttributeKind::integers, false, "axes that scales, sizes and roi speak of; default: all, in order"},
    {"keep_aspect_ratio_policy", AttributeKind::string, false,
     "stretch (default); not_larger, not_smaller: one scale for all axes, the smallest or largest that sizes ask for"},
    {"sizes", AttributeKind::shape, false, "of the result along axes; may be symbolic"},
};
constexpr double kMostScale = 1 << 20;  // far more than any image can grow
constexpr size_t kRoi = 1, kScales = 2, kSizes = 3;

std::vector<size_t> resized_axes(const Attributes& attributes, size_t rank) {
  std::vector<int64_t> all;
  for (size_t i = 0; i < rank; ++i) all.push_back(static_cast<int64_t>(i));
  return checked_axes(attributes.get_or<std::vector<int64_t>>("axes", all), rank);
}

int64_t whole(double size) {
  if (!(size >= 0 && size < 0x1p62)) fail("a size of {} is asked for", size);
  return static_cast<int64_t>(size);
}

// floor(size * scale) with the product in f32, as ONNX. Of a symbol only where that is exact for every size up to
// 65536: for multiples of 1/256.
Dim scaled(const Dim& size, double scale) {
  if (size.is_constant()) return whole(std::floor(static_cast<float>(size.constant()) * static_cast<float>(scale)));
  constexpr int64_t kParts = 256;
  const double parts = scale * kParts;
  if (parts != std::floor(parts)) return Dim::unknown();
  const int64_t common = std::gcd(static_cast<int64_t>(parts), kParts);
  return floordiv(size * (static_cast<int64_t>(parts) / common), kParts / common);
}

// One scale for all axes.
double common_scale(const std::string& policy, const std::vector<double>& scales) {
  if (scales.empty()) fail("keep_aspect_ratio_policy is \"{}\", but there are no axes to resize", policy);
  if (policy == "not_larger") return *std::ranges::min_element(scales);
  if (policy == "not_smaller") return *std::ranges::max_element(scales);
  fail("keep_aspect_ratio_policy is \"{}\"; accepted: stretch, not_larger, not_smaller", policy);
}

std::vector<double> ratios(std::span<const int64_t> sizes, std::span<const int64_t> of) {
  std::vector<double> result;
  for (size_t i = 0; i < sizes.size(); ++i)
    result.push_back(static_cast<double>(sizes[i]) / static_cast<double>(of[i]));
  return result;
}

// Sizes of the result along the axes, which have `old` sizes in x.
Shape new_sizes(const InferArgs& a, const Shape& old) {
  const std::string policy = a.attributes.get_or<std::string>("keep_aspect_ratio_policy", "stretch");
  const auto expect_count = [&](size_t count, const char* what) {
    if (count != old.size()) fail("{} has {} values for {} axes", what, count, old.size());
  };
  if (a.has(kScales)) {
    expect_float(a[kScales], "scales");
    if (!a.constants[kScales]) return Shape(old.size(), Dim::unknown());
    const std::vector<double> scales = a.constants[kScales]->to_doubles();
    expect_count(scales.size(), "scales");
    Shape sizes;
    for (size_t i = 0; i < old.size(); ++i) {
      if (!(scales[i] > 0 && scales[i] < kMostScale))
        fail("scales holds {}; accepted: above 0 and below {}", scales[i], kMostScale);
      sizes.push_back(scaled(old[i], scales[i]));
    }
    return sizes;
  }
  const std::optional<Shape> sizes = dims_argument(a, kSizes, "sizes");
  if (sizes) {
    expect_count(sizes->size(), "sizes");
    expect_sizes(*sizes, "sizes");
  }
  if (sizes && policy == "stretch") return *sizes;
  if (!sizes || !is_constant(*sizes) || !is_constant(old)) return Shape(old.size(), Dim::unknown());
  if (element_count(old) == Dim(0)) fail("x has no elements, and so no aspect ratio");
  const double scale = common_scale(policy, ratios(constant_shape(*sizes), constant_shape(old)));
  Shape kept;
  for (const Dim& size : old) kept.push_back(whole(std::floor(scale * static_cast<double>(size.constant()) + 0.5)));
  return kept;
}

std::vector<TensorType> infer_resize(const InferArgs& a) {
  expect_not_string(a[0], "x");
  if (a.has(kScales) && (a.has(kSizes) || a.attributes.has("sizes")))
    fail("both scales and sizes are given; accepted: one of them");
  if (a.attributes.get_or<std::string>("coordinates", "") == "tf_crop_and_resize" && !a.has(kRoi))
    fail("coordinates tf_crop_and_resize needs the operand roi: the region's starts, then its ends");
  const std::vector<size_t> axes = resized_axes(a.attributes, a[0].rank());
  Shape shape = a[0].shape, old;
  for (size_t axis : axes) old.push_back(shape[axis]);
  const Shape sizes = new_sizes(a, old);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (old[i] == Dim(0) && !(sizes[i] == Dim(0)))
      fail("axis {} of x has no elements to make {} from", axes[i], sizes[i].to_string());
    shape[axes[i]] = sizes[i];
  }
  return {plain_type(a[0].dtype, shape)};
}

// One axis: `resized` is its exact new length, of which `places` is the whole part.
struct Axis {
  size_t axis;
  int64_t length, places;
  double scale, resized, start, end;  // start, end: of the region, as parts of length - 1
};

std::vector<Axis> axes_of(const EvalArgs& a, const std::vector<int64_t>& shape) {
  const std::vector<size_t> axes = resized_axes(a.attributes, shape.size());
  const std::vector<double> roi = a.has(kRoi) ? a[kRoi].to_doubles() : std::vector<double>();
  if (!roi.empty() && roi.size() != 2 * axes.size())
    fail("roi has {} values for {} axes; accepted: a start for each, then an end for each", roi.size(), axes.size());
  const std::vector<int64_t> places = sizes_of(a.results[0]);
  std::vector<int64_t> lengths;
  for (size_t axis : axes) lengths.push_back(shape[axis]);
  std::vector<double> scales;
  const std::string policy = a.attributes.get_or<std::string>("keep_aspect_ratio_policy", "stretch");
  const auto expect_count = [&](size_t count, const char* what) {  // where they were computed, no rule has seen them
    if (count != axes.size()) fail("{} has {} values for {} axes", what, count, axes.size());
  };
  if (a.has(kScales)) {
    scales = a[kScales].to_doubles();
    expect_count(scales.size(), "scales");
  } else {
    const std::vector<int64_t> wanted = integers_argument(a, kSizes, "sizes");
    expect_count(wanted.size(), "sizes");
    scales = ratios(wanted, lengths);
    if (policy != "stretch") scales.assign(axes.size(), common_scale(policy, scales));
  }
  std::vector<Axis> result;
  for (size_t i = 0; i < axes.size(); ++i) {
    const double exact = scales[i] * static_cast<double>(lengths[i]);
    const bool by_size = !a.has(kScales) && policy == "stretch";  // then a product would only round
    result.push_back({axes[i], lengths[i], places[axes[i]], scales[i],
                      by_size ? static_cast<double>(places[axes[i]]) : exact, roi.empty() ? 0 : roi[i],
                      roi.empty() ? 1 : roi[axes.size() + i]});
  }
  return result;
}

double coordinate(const std::string& mode, const Axis& axis, int64_t place) {
  const auto i = static_cast<double>(place), last = static_cast<double>(axis.length - 1);
  const double half = (i + 0.5) / axis.scale - 0.5;
  if (mode == "half_pixel") return half;
  if (mode == "pytorch_half_pixel") return axis.places > 1 ? half : 0;
  if (mode == "asymmetric") return i / axis.scale;
  if (mode == "tf_half_pixel_for_nn") return (i + 0.5) / axis.scale;
  if (mode == "align_corners") return axis.resized == 1 ? 0 : i * last / (axis.resized - 1);
  if (mode == "half_pixel_symmetric")
    return half + static_cast<double>(axis.length) / 2 * (1 - static_cast<double>(axis.places) / axis.resized);
  if (mode == "tf_crop_and_resize")
    return last * (axis.resized == 1 ? (axis.start + axis.end) / 2
                                     : axis.start + i * (axis.end - axis.start) / (axis.resized - 1));
  fail(
      "coordinates is \"{}\"; accepted: half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, "
      "asymmetric, "
      "tf_half_pixel_for_nn, tf_crop_and_resize",
      mode);
}

double nearest(const std::string& mode, double x, double scale) {
  if (mode == "round_prefer_floor") return std::ceil(x - 0.5);
  if (mode == "round_prefer_ceil") return std::floor(x + 0.5);
  if (mode == "floor" || (mode == "ceil_if_smaller" && scale >= 1)) return std::floor(x);
  if (mode == "ceil" || mode == "ceil_if_smaller") return std::ceil(x);
  fail("nearest_mode is \"{}\"; accepted: round_prefer_floor, round_prefer_ceil, floor, ceil, ceil_if_smaller", mode);
}

// Elements around coordinate x, before those outside are dealt with. A filter of radius r at scale 1 widens as the axis
// shrinks when it guards against aliases.
Sample around(const std::string& mode, double x, double scale, const Attributes& attributes) {
  if (mode == "nearest")
    return {
        {static_cast<int64_t>(nearest(attributes.get_or<std::string>("nearest_mode", "round_prefer_floor"), x, scale)),
         1}};
  if (mode != "linear" && mode != "cubic") fail("mode is \"{}\"; accepted: nearest, linear, cubic", mode);
  const bool antialias = attributes.get_or<int64_t>("antialias", 0) != 0;
  const double a = attributes.get_or<double>("cubic_coeff_a", -0.75), radius = mode == "cubic" ? 2 : 1;
  const double narrow = antialias ? std::min(scale, 1.0) : 1, base = std::ceil(x) - 1;
  const auto first = static_cast<int64_t>(std::floor(-radius / narrow)) + 1;
  Sample sample;
  double sum = 0;
  for (int64_t i = first; i < 2 - first; ++i) {
    const double distance = (static_cast<double>(i) + base - x) * narrow;
    sample.push_back(
        {static_cast<int64_t>(base) + i, mode == "cubic" ? cubic_weight(distance, a) : linear_weight(distance)});
    sum += sample.back().weight;
  }
  for (Weighted& each : sample) each.weight /= antialias ? sum : 1;
  return sample;
}

// Positions as far from an axis as these read its outermost element; so does what is no position.
double near(double x) {
  constexpr double kFar = 0x1p60;
  return std::isnan(x) ? 0 : std::clamp(x, -kFar, kFar);
}

std::vector<Sample> samples(const Axis& axis, const Attributes& attributes) {
  const std::string mode = attributes.get_or<std::string>("mode", "nearest"),
                    coordinates = attributes.get_or<std::string>("coordinates", "half_pixel");
  const bool exclude = attributes.get_or<int64_t>("exclude_outside", 0) != 0;
  std::vector<Sample> result;
  for (int64_t place = 0; place < axis.places; ++place) {
    check_stop();
    const double x = near(coordinate(coordinates, axis, place));
    result.emplace_back();
    if (coordinates == "tf_crop_and_resize" && !(x >= 0 && x <= static_cast<double>(axis.length - 1))) continue;
    result.back() = around(mode, x, axis.scale, attributes);
    double sum = 0;
    for (Weighted& each : result.back()) {
      const int64_t inside = std::clamp<int64_t>(each.position, 0, axis.length - 1);
      if (exclude && inside != each.position) each.weight = 0;
      each.position = inside;
      sum += each.weight;
    }
    for (Weighted& each : result.back()) each.weight /= exclude ? sum : 1;
  }
  return result;
}

}  // namespace

std::vector<ResizedAxis> resize_samples(const EvalArgs& a, const std::vector<int64_t>& shape) {
  std::vector<ResizedAxis> result;
  for (const Axis& axis : axes_of(a, shape)) result.push_back({axis.axis, samples(axis, a.attributes)});
  return result;
}

namespace {

// x with one axis sampled anew. Integers come with weights of 1 alone.
template <class T>
std::vector<T> sampled(const std::vector<T>& x, const AxisView& view, const std::vector<Sample>& samples, T outside) {
  const auto places = static_cast<int64_t>(samples.size());
  std::vector<T> y(static_cast<size_t>(view.outer * places * view.inner));
  parallel_for(view.outer * places, [&](int64_t at) {
    const Sample& sample = samples[static_cast<size_t>(at % places)];
    for (int64_t i = 0; i < view.inner; ++i) {
      T value = sample.empty() ? outside : T(0);
      for (const Weighted& each : sample)
        value += static_cast<T>(each.weight) *
                 x[static_cast<size_t>((at / places * view.length + each.position) * view.inner + i)];
      y[static_cast<size_t>(at * view.inner + i)] = value;
    }
  });
  return y;
}

template <class T>
std::vector<T> resized(const EvalArgs& a, std::vector<T> x) {
  const auto outside = static_cast<T>(a.attributes.get_or<double>("extrapolation_value", 0));
  std::vector<int64_t> sizes = a[0].shape();
  for (const ResizedAxis& each : resize_samples(a, sizes)) {
    x = sampled(x, around_axis(sizes, each.axis), each.places, outside);
    sizes[each.axis] = std::ssize(each.places);
  }
  return x;
}

std::vector<Tensor> eval_resize(const EvalArgs& a) {
  const DType dtype = a.results[0].dtype;
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  if (!is_float(dtype) && a.attributes.get_or<std::string>("mode", "nearest") == "nearest")
    return {Tensor::of<int64_t>(sizes, resized(a, a[0].to_integers())).converted(dtype)};
  std::vector<double> y = resized(a, a[0].to_doubles());
  if (!is_float(dtype))
    for (double& value : y) value = std::nearbyint(value);
  return {Tensor::from_doubles(dtype, sizes, y)};
}

// Where places are elements of x; none: several elements make a place, or the border does.
std::optional<std::vector<Move>> resize_moves(const MoveArgs& a) {
  if (!a.are_known) return std::nullopt;
  std::vector<Stretches> axes = whole_axes(a.shapes[0]);
  for (const ResizedAxis& each : resize_samples(a.given, a.shapes[0])) {
    std::vector<int64_t> reads;
    for (const Sample& sample : each.places)
      for (const Weighted& element : sample)
        if (element.weight == 1) reads.push_back(element.position);
    if (reads.size() != each.places.size()) return std::nullopt;
    axes[each.axis] = stretches(reads);
  }
  return one_move(std::move(axes));
}

}  // namespace

extern constinit const OpDef resize_def{
    .name = "resize",
    .doc =
        "x sampled at the places of a larger or smaller tensor: operands x, roi (starts, then ends), scales, sizes. "
        "One of scales and sizes (or the attribute sizes) is given. Integers round to nearest even and saturate.",
    .operands = {"x", computed("roi"), computed("scales"), computed("computed_sizes")},
    .attributes = kAttributes,
    .infer = infer_resize,
    .eval = eval_resize,
    .transposed = transposed_on_axes,
    .moves = true,
    .move_map = resize_moves};

}  // namespace hone
