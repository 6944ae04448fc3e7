// Regions of images brought to one size: roi_align samples between elements, max_roi_pool takes the largest elements.
#include <cmath>

#include "base/threads.h"
#include "ops/elements.h"
#include "ops/rules.h"
#include "ops/sliding_window.h"

namespace hone {
namespace {

constexpr AttributeSpec kSpatialScale{"spatial_scale", AttributeKind::number, false,
                                      "elements of x per unit of the regions' coordinates; default 1"};
constexpr AttributeSpec kAlignAttributes[] = {
    {"output_height", AttributeKind::integer, false, "default 1"},
    {"output_width", AttributeKind::integer, false, "default 1"},
    {"sampling_ratio", AttributeKind::integer, false,
     "samples along each dimension of a bin; default 0: as many as it has elements"},
    {"mode", AttributeKind::string, false, "avg (default) or max of a bin's samples"},
    {"half_pixel", AttributeKind::integer, false,
     "1: coordinates are those of edges, half an element before centres; default 0: of centres, regions at least 1 "
     "wide"},
    kSpatialScale,
    kChannelsLastAttribute};
constexpr AttributeSpec kMaxAttributes[] = {
    {"pooled_shape", AttributeKind::integers, true, "height, width of the results"}, kSpatialScale};

constexpr int64_t kBinsAtOnce = 32;     // of a row, whose samples are remembered for all channels
constexpr int64_t kMostSamples = 4096;  // along a dimension of a bin: far more than any network takes

std::vector<TensorType> infer_roi_align(const InferArgs& a) {
  expect_float(a[0], "x");
  expect_rank(a[0], 4, 4, "x [N,C,H,W]");
  expect_float(a[1], "rois");
  expect_rank(a[1], 2, 2, "rois [R,4]");
  expect_dim(a[1].shape[1], 4, "the last dimension of rois (x1, y1, x2, y2)");
  expect_index(a[2], "batch_indices");
  expect_rank(a[2], 1, 1, "batch_indices [R]");
  expect_dim(a[2].shape[0], a[1].shape[0], "the length of batch_indices, one per region,");
  const std::string mode = a.attributes.get_or<std::string>("mode", "avg");
  if (mode != "avg" && mode != "max") fail("mode is \"{}\"; accepted: avg, max", mode);
  const int64_t height = a.attributes.get_or<int64_t>("output_height", 1),
                width = a.attributes.get_or<int64_t>("output_width", 1);
  expect_positive(height, "output_height");
  expect_positive(width, "output_width");
  checked_range(a.attributes.get_or<int64_t>("sampling_ratio", 0), INT64_MIN, kMostSamples, "sampling_ratio");
  const Dim channels = channels_first(a.attributes, a[0].shape)[1];
  return {plain_type(a[0].dtype, as_channels_lie(a.attributes, {a[1].shape[0], channels, height, width}))};
}

// Number of the image that a region lies in.
int64_t checked_image(double index, int64_t images) {
  if (!(index >= 0 && index < static_cast<double>(images)))
    fail("a region lies in image {} but x has {}; accepted: 0 to {}", index, images, images - 1);
  return static_cast<int64_t>(index);
}

// The four coordinates of a region; larger ones than any image has could ask for any number of samples.
const double* checked_region(const double* coordinates) {
  constexpr double kMost = 1 << 24;
  for (int i = 0; i < 4; ++i)
    if (!(std::abs(coordinates[i]) <= kMost))
      fail("a region has the coordinate {}; accepted: {} to {}", coordinates[i], -kMost, kMost);
  return coordinates;
}

// Bins along one dimension of a region, and the samples in each.
struct Bins {
  double start, width;
  int64_t samples;
  double position(int64_t bin, int64_t sample) const {
    return start +
           (static_cast<double>(bin) + (static_cast<double>(sample) + 0.5) / static_cast<double>(samples)) * width;
  }
};

Bins bins_of(double start, double end, int64_t bins, const Attributes& attributes) {
  const double scale = attributes.get_or<double>("spatial_scale", 1);
  const bool half = attributes.get_or<int64_t>("half_pixel", 0) != 0;
  const double extent = half ? (end - start) * scale : std::max((end - start) * scale, 1.0);
  const double width = extent / static_cast<double>(bins);
  const int64_t samples = attributes.get_or<int64_t>("sampling_ratio", 0);
  if (!(std::abs(width) < 0x1p40)) fail("a bin of a region is {} elements wide", width);
  return {start * scale - (half ? 0.5 : 0), width, samples > 0 ? samples : static_cast<int64_t>(std::ceil(width))};
}

// The elements on both sides of a position along a dimension, with the weight of the second; none more than 1 outside.
struct Between {
  int64_t low, high;
  double weight;
};
std::optional<Between> between(double position, int64_t length) {
  if (length == 0 || !(position >= -1 && position <= static_cast<double>(length))) return std::nullopt;
  const double inside = std::max(position, 0.0);
  const auto low = static_cast<int64_t>(inside);
  if (low >= length - 1) return Between{length - 1, length - 1, 0};
  return Between{low, low + 1, inside - static_cast<double>(low)};
}

// The samples of a bin that may lie on a dimension of `length` elements or near it: [begin, end). A region may be far
// larger than the image.
struct Samples {
  int64_t begin, end;
};
Samples near_plane(const Bins& bins, int64_t bin, int64_t length) {
  const auto count = static_cast<double>(bins.samples);
  if (!(bins.width > 0) || bins.samples <= 2 * (length + 2)) return {0, bins.samples};
  const auto sample_at = [&](double position) {  // the inverse of Bins::position
    return std::clamp(((position - bins.start) / bins.width - static_cast<double>(bin)) * count - 0.5, -1.0, count);
  };
  return {std::max<int64_t>(static_cast<int64_t>(sample_at(-1)) - 1, 0),
          std::min<int64_t>(static_cast<int64_t>(sample_at(static_cast<double>(length))) + 2, bins.samples)};
}

// The samples of a bin along one dimension: what each that lies on it takes of the elements around, which is all that
// there is to a sample, since those of a bin are a grid.
struct BinSamples {
  struct Tap {
    int64_t at;
    double weight;
  };
  std::vector<Tap> taps;
  int64_t count = 0, outside = 0;
  BinSamples(const Bins& bins, int64_t bin, int64_t length) : count(std::max<int64_t>(bins.samples, 0)) {
    const Samples near = near_plane(bins, bin, length);
    outside = count - std::max<int64_t>(near.end - near.begin, 0);
    for (int64_t i = near.begin; i < near.end; ++i)
      if (const std::optional<Between> place = between(bins.position(bin, i), length)) {
        taps.push_back({place->low, 1 - place->weight});
        taps.push_back({place->high, place->weight});
      } else {
        ++outside;
      }
  }
};

// One bin of one plane: the mean or the largest of its samples; a sample outside is 0, as is a bin without samples. The
// largest is that of the weighted elements, before they are added: ONNX says so.
double bin_value(const double* plane, int64_t width, const BinSamples& rows, const BinSamples& columns, bool largest) {
  const double count = static_cast<double>(rows.count) * static_cast<double>(columns.count);
  if (count == 0) return 0;
  const bool has_zero = rows.outside + columns.outside > 0;
  double sum = 0, most = has_zero ? 0 : -std::numeric_limits<double>::infinity();
  for (const auto& [y, of_row] : rows.taps) {
    double row = 0;
    for (const auto& [x, of_column] : columns.taps) {
      const double element = plane[y * width + x];
      if (largest) most = std::max(most, of_row * of_column * element);
      else row += of_column * element;
    }
    sum += of_row * row;
  }
  return largest ? most : sum / count;
}

std::vector<Tensor> eval_roi_align(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]), images = a[2].to_integers();
  const std::vector<double> x = a[0].to_doubles(), rois = a[1].to_doubles();
  const bool largest = a.attributes.get_or<std::string>("mode", "avg") == "max";
  const int64_t channels = sizes[1], height = a[0].dim(2), width = a[0].dim(3), bins = sizes[2] * sizes[3];
  std::vector<double> y(static_cast<size_t>(element_count(sizes)));
  parallel_for(static_cast<int64_t>(images.size()), [&](int64_t r) {
    const double* roi = checked_region(rois.data() + 4 * r);
    const int64_t image = checked_image(static_cast<double>(images[static_cast<size_t>(r)]), a[0].dim(0));
    const Bins rows = bins_of(roi[1], roi[3], sizes[2], a.attributes),
               columns = bins_of(roi[0], roi[2], sizes[3], a.attributes);
    for (int64_t i = 0; i < sizes[2]; ++i) {
      const BinSamples down(rows, i, height);
      for (int64_t first = 0; first < sizes[3]; first += kBinsAtOnce) {
        std::vector<BinSamples> right;
        for (int64_t j = first; j < std::min(first + kBinsAtOnce, sizes[3]); ++j) right.emplace_back(columns, j, width);
        for (int64_t c = 0; c < channels; ++c) {
          check_stop();
          const double* plane = x.data() + (image * channels + c) * height * width;
          double* out = y.data() + (r * channels + c) * bins + i * sizes[3] + first;
          for (const BinSamples& bin : right) *out++ = bin_value(plane, width, down, bin, largest);
        }
      }
    }
  });
  return {Tensor::from_doubles(a.results[0].dtype, sizes, y)};
}

std::vector<TensorType> infer_max_roi_pool(const InferArgs& a) {
  expect_float(a[0], "x");
  expect_rank(a[0], 4, 4, "x [N,C,H,W]");
  expect_float(a[1], "rois");
  expect_rank(a[1], 2, 2, "rois [R,5]");
  expect_dim(a[1].shape[1], 5, "the last dimension of rois (image, x1, y1, x2, y2)");
  const std::vector<int64_t> pooled = integers_or(a.attributes, "pooled_shape", {}, 2, 1);
  return {plain_type(a[0].dtype, {a[1].shape[0], a[0].shape[1], pooled[0], pooled[1]})};
}

struct Range {
  int64_t begin, end;
};

// Elements of bin `bin` along a dimension of `length` elements; start and end are both part of the region.
Range elements_of(double start, double end, int64_t bin, int64_t bins, int64_t length) {
  const double width = std::max(end - start + 1, 1.0) / static_cast<double>(bins);
  const auto clipped = [&](double position) {  // what is no number counts as 0
    return start + position > 0 ? static_cast<int64_t>(std::min(start + position, static_cast<double>(length))) : 0;
  };
  return {clipped(std::floor(static_cast<double>(bin) * width)),
          clipped(std::ceil(static_cast<double>(bin + 1) * width))};
}

double largest_of(const double* plane, int64_t width, const Range& rows, const Range& columns) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return 0;
  double most = -std::numeric_limits<double>::infinity();
  check_stop();
  for (int64_t i = rows.begin; i < rows.end; ++i)
    for (int64_t j = columns.begin; j < columns.end; ++j) most = std::max(most, plane[i * width + j]);
  return most;
}

std::vector<Tensor> eval_max_roi_pool(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const std::vector<double> x = a[0].to_doubles(), rois = a[1].to_doubles();
  const double scale = a.attributes.get_or<double>("spatial_scale", 1);
  const int64_t height = a[0].dim(2), width = a[0].dim(3);
  std::vector<double> y;
  for (const double* roi = rois.data(); roi < rois.data() + rois.size(); roi += 5) {
    const int64_t image = checked_image(roi[0], a[0].dim(0));
    const double* region = checked_region(roi + 1);
    const auto edge = [&](int i) { return std::round(region[i] * scale); };
    for (int64_t c = 0; c < sizes[1]; ++c)
      for (int64_t i = 0; i < sizes[2]; ++i)
        for (int64_t j = 0; j < sizes[3]; ++j)
          y.push_back(largest_of(x.data() + (image * sizes[1] + c) * height * width, width,
                                 elements_of(edge(1), edge(3), i, sizes[2], height),
                                 elements_of(edge(0), edge(2), j, sizes[3], width)));
  }
  return {Tensor::from_doubles(a.results[0].dtype, sizes, y)};
}

}  // namespace

extern constinit const OpDef roi_align_def{
    .name = "roi_align",
    .doc =
        "Regions rois[R,4] (x1, y1, x2, y2) of the images batch_indices[R] of x[N,C,H,W], cut into bins, each the mean "
        "or maximum of samples between elements: [R,C,output_height,output_width].",
    .operands = {"x", "rois", "batch_indices"},
    .attributes = kAlignAttributes,
    .infer = infer_roi_align,
    .eval = [](const EvalArgs& a) { return eval_channels_first(a, eval_roi_align); },
    .no_gradient = "no rule is written for pooling in computed boxes"};
extern constinit const OpDef max_roi_pool_def{.name = "max_roi_pool",
                                              .doc =
                                                  "Regions rois[R,5] (image, x1, y1, x2, y2) of x[N,C,H,W], cut into "
                                                  "bins, each its largest element or 0 where it "
                                                  "has none: [R,C,height,width].",
                                              .operands = {"x", "rois"},
                                              .attributes = kMaxAttributes,
                                              .infer = infer_max_roi_pool,
                                              .eval = eval_max_roi_pool,
                                              .no_gradient = "no rule is written for pooling in computed boxes"};

}  // namespace hone
