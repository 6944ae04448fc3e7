// grid_sample and affine_grid: images sampled at coordinates that are data, and the coordinates of an affine map. A
// coordinate runs from -1 to 1 over an image; the last spatial dimension comes first (x, y, z).
#include <cmath>

#include "base/threads.h"
#include "ops/elements.h"
#include "ops/interpolation.h"
#include "ops/rules.h"
#include "ops/sliding_window.h"

namespace hone {
namespace {

constexpr AttributeSpec kAlignCorners{"align_corners", AttributeKind::integer, false,
                                      "1: -1 and 1 are the centres of the outermost elements; default 0: their edges"};
constexpr AttributeSpec kSampleAttributes[] = {
    {"mode", AttributeKind::string, false, "linear (default), nearest, cubic"},
    {"padding_mode", AttributeKind::string, false,
     "what lies outside x: zeros (default), border (the outermost elements), reflection"},
    kAlignCorners};
constexpr AttributeSpec kAffineAttributes[] = {
    {"size", AttributeKind::shape, false, "[N,C,...] of the images that the grid will make; may be symbolic"},
    kAlignCorners};

std::vector<TensorType> infer_grid_sample(const InferArgs& a) {
  expect_not_string(a[0], "x");
  expect_rank(a[0], 3, 5, "x [N,C,...]");
  expect_float(a[1], "grid");
  expect_rank(a[1], a[0].rank(), a[0].rank(), "grid [N,...,spatial dimensions of x]");
  const Shape& grid = a[1].shape;
  expect_dim(grid[0], a[0].shape[0], "the first dimension of grid, the number of images,");
  expect_dim(grid.back(), Dim(static_cast<int64_t>(a[0].rank()) - 2),
             "the last dimension of grid, one per spatial dimension,");
  Shape shape{a[0].shape[0], a[0].shape[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  return {plain_type(a[0].dtype, shape)};
}

// One spatial dimension of x, and where it is sampled.
class Sampler {
 public:
  explicit Sampler(const Attributes& attributes)
      : mode_(attributes.get_or<std::string>("mode", "linear")),
        padding_(attributes.get_or<std::string>("padding_mode", "zeros")),
        align_(attributes.get_or<int64_t>("align_corners", 0) != 0) {
    if (mode_ != "linear" && mode_ != "nearest" && mode_ != "cubic")
      fail("mode is \"{}\"; accepted: linear, nearest, cubic", mode_);
    if (padding_ != "zeros" && padding_ != "border" && padding_ != "reflection")
      fail("padding_mode is \"{}\"; accepted: zeros, border, reflection", padding_);
  }

  struct Weighted {
    int64_t position;
    double weight;
  };
  // The elements that make up coordinate c; those in a padding of zeros are left out. NaN is read as -1, as in PyTorch.
  std::vector<Weighted> around(double c, int64_t length) const {
    if (length == 0) return {};
    const auto n = static_cast<double>(length);
    if (std::isnan(c)) c = -1;
    double x = align_ ? (c + 1) / 2 * (n - 1) : ((c + 1) * n - 1) / 2;
    if (mode_ == "nearest") x = std::nearbyint(x);
    const double base = std::floor(x);
    const int first = mode_ == "cubic" ? -1 : 0, last = mode_ == "cubic" ? 2 : mode_ == "linear" ? 1 : 0;
    std::vector<Weighted> result;
    for (int i = first; i <= last; ++i) {
      const double position = moved_inside(base + i, n), distance = base + i - x;
      if (!(position >= 0 && position < n)) continue;
      result.push_back({static_cast<int64_t>(position), mode_ == "cubic"    ? cubic_weight(distance, -0.75)
                                                        : mode_ == "linear" ? linear_weight(distance)
                                                                            : 1});
    }
    return result;
  }

 private:
  double moved_inside(double x, double length) const {
    const double low = align_ ? 0 : -0.5, high = align_ ? length - 1 : length - 0.5;
    if (padding_ == "zeros" || (x >= low && x <= high)) return x;
    if (padding_ == "border" || high == low) return std::clamp(x, 0.0, length - 1);
    const double period = 2 * (high - low), away = std::fmod(std::abs(x - low), period);
    return low + std::min(away, period - away);
  }
  std::string mode_, padding_;
  bool align_;
};

std::vector<Tensor> eval_grid_sample(const EvalArgs& a) {
  const Sampler sampler(a.attributes);
  const std::vector<int64_t> sizes = sizes_of(a.results[0]), extents = spatial(a[0].shape());
  const std::vector<double> x = a[0].to_doubles(), grid = a[1].to_doubles();
  const int64_t channels = sizes[1], places = element_count(spatial(sizes)), plane = element_count(extents);
  std::vector<double> y(static_cast<size_t>(element_count(sizes)));
  parallel_for(sizes[0] * places, [&](int64_t at) {
    check_stop();
    std::vector<Sampler::Weighted> terms{{0, 1}};  // elements of the plane
    for (size_t i = 0; i < extents.size(); ++i) {
      const size_t last = (static_cast<size_t>(at) + 1) * extents.size() - 1;
      std::vector<Sampler::Weighted> wider;
      for (const auto& [position, weight] : sampler.around(grid[last - i], extents[i]))
        for (const auto& term : terms) wider.push_back({term.position * extents[i] + position, term.weight * weight});
      terms = std::move(wider);
    }
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t image_plane = at / places * channels + c;
      double sum = 0;
      for (const auto& [position, weight] : terms)
        sum += weight * x[static_cast<size_t>(image_plane * plane + position)];
      y[static_cast<size_t>(image_plane * places + at % places)] = sum;
    }
  });
  return {Tensor::from_doubles(a.results[0].dtype, sizes, y)};
}

constexpr int64_t kMostSpatial = 3;

// theta [N,d,d+1] for d spatial dimensions, size [N,C,...].
std::vector<TensorType> infer_affine_grid(const InferArgs& a) {
  expect_float(a[0], "theta");
  expect_rank(a[0], 3, 3, "theta [N,d,d+1]");
  const std::optional<Shape> size = dims_argument(a, 1, "size");
  const Dim dims = size ? Dim(static_cast<int64_t>(size->size()) - 2) : a[1].shape.at(0) - 2;
  if (!dims.is_constant()) return {TensorType::unranked(a[0].dtype)};
  if (dims.constant() < 1 || dims.constant() > kMostSpatial)
    fail("size has {} values; accepted: N, C and 1 to {} spatial dimensions", dims.constant() + 2, kMostSpatial);
  expect_dim(a[0].shape[1], dims, "the second dimension of theta, one row per spatial dimension,");
  expect_dim(a[0].shape[2], dims + 1, "the last dimension of theta, spatial dimensions and one for the shift,");
  Shape shape{a[0].shape[0]};
  for (int64_t i = 0; i < dims.constant(); ++i)
    shape.push_back(size ? (*size)[static_cast<size_t>(i) + 2] : Dim::unknown());
  if (size) {
    expect_sizes(*size, "size");
    expect_dim((*size)[0], shape[0], "the first value of size, the number of maps,");
  }
  shape.push_back(dims);
  return {plain_type(a[0].dtype, shape)};
}

std::vector<Tensor> eval_affine_grid(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const std::vector<double> theta = a[0].to_doubles();
  const bool align = a.attributes.get_or<int64_t>("align_corners", 0) != 0;
  const auto dims = static_cast<size_t>(sizes.back());
  const int64_t places = element_count(sizes) / std::max<int64_t>(sizes[0] * sizes.back(), 1);
  std::vector<double> y;
  for (int64_t at = 0; at < sizes[0] * places; ++at) {
    if (at % kVisitsPerStop == 0) check_stop();
    std::vector<double> point(dims + 1, 1);  // x, y, z, 1
    int64_t rest = at % places;
    for (size_t i = 0; i < dims; ++i) {
      const int64_t n = sizes[dims - i], position = rest % n;
      const auto p = static_cast<double>(position), length = static_cast<double>(n);
      point[i] = !align ? (2 * p + 1) / length - 1 : n > 1 ? 2 * p / (length - 1) - 1 : 0;
      rest /= n;
    }
    const double* map = theta.data() + static_cast<size_t>(at / places) * dims * (dims + 1);
    for (size_t row = 0; row < dims; ++row)
      y.push_back(dot(map + row * (dims + 1), point.data(), static_cast<int64_t>(dims) + 1));
  }
  return {Tensor::from_doubles(a.results[0].dtype, sizes, y)};
}

}  // namespace

extern constinit const OpDef grid_sample_def{
    .name = "grid_sample",
    .doc =
        "x[N,C,...] at the coordinates grid[N,...,d], d spatial dimensions of x: the result is [N,C] and the middle "
        "dimensions of grid.",
    .operands = {"x", "grid"},
    .attributes = kSampleAttributes,
    .infer = infer_grid_sample,
    .eval = eval_grid_sample};
extern constinit const OpDef affine_grid_def{
    .name = "affine_grid",
    .doc =
        "For each place of images of a size, theta[N,d,d+1] times its coordinates (x, y, z) and 1: a grid "
        "[N,...,d] for grid_sample. The size [N,C,...] is an attribute or the second operand.",
    .operands = {"theta", computed("computed_size")},
    .attributes = kAffineAttributes,
    .infer = infer_affine_grid,
    .eval = eval_affine_grid};

}  // namespace hone
