// Window kernels for CUDA against the same windows in double: fixed and open planes, borders, taps that count, weights.
#include "kernels/reduce_window/plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "tests/device_cuda/run_plan.h"

namespace hone {
namespace {

using namespace test;
using Kind = ReduceWindowPlan::Reduction;

struct Places {
  int64_t images;
  PlaneWindow plane;
};

// A window of 3x3, stride 2, padded; one of uneven strides, dilations and pads; one as large as its plane.
const Places kPadded{2, {7, 7, 4, 4, 3, 3, 2, 2, 1, 1, 1, 1}};
const Places kUneven{1, {5, 19, 4, 9, 7, 4, 2, 2, 1, 3, 3, 5}};
const Places kGlobal{3, {5, 6, 1, 1, 5, 6, 1, 1, 1, 1, 0, 0}};

DeviceVector<float> numbers(int64_t n, uint64_t seed) {
  Philox rng(seed);
  DeviceVector<float> values(static_cast<size_t>(n));
  for (float& v : values) v = rng.normal();
  return values;
}

int64_t results_of(const Places& at, int64_t channels) {
  return at.images * at.plane.out_height * at.plane.out_width * channels;
}

struct Expected {
  double sum = 0, magnitude = 0, most = -INFINITY;
  int64_t taps = 0;
};
std::vector<Expected> expected(const Places& at, int64_t channels, const DeviceVector<float>& x,
                               const std::vector<float>& weights) {
  const PlaneWindow& p = at.plane;
  std::vector<Expected> all(static_cast<size_t>(results_of(at, channels)));
  size_t result = 0;
  for (int64_t image = 0; image < at.images; ++image)
    for (int64_t oy = 0; oy < p.out_height; ++oy)
      for (int64_t ox = 0; ox < p.out_width; ++ox)
        for (int64_t c = 0; c < channels; ++c, ++result)
          for (int64_t tap = 0; tap < p.taps(); ++tap) {
            const int64_t y = oy * p.stride_y - p.pad_top + tap / p.kernel_width * p.dilation_y;
            const int64_t column = ox * p.stride_x - p.pad_left + tap % p.kernel_width * p.dilation_x;
            if (y < 0 || y >= p.height || column < 0 || column >= p.width) continue;
            const double value = x[static_cast<size_t>(((image * p.height + y) * p.width + column) * channels + c)] *
                                 (weights.empty() ? 1.0 : weights[static_cast<size_t>(c * p.taps() + tap)]);
            Expected& e = all[result];
            e.sum += value, e.magnitude += std::abs(value), e.most = std::max(e.most, value), ++e.taps;
          }
  return all;
}

double bound_of(const Expected& e) { return static_cast<double>(e.taps + 2) * 0x1p-24 * e.magnitude; }

ReduceWindowPlan window_plan(const Places& at, int64_t channels, Kind reduction) {
  ReduceWindowPlan plan;
  plan.plane = at.plane, plan.channels = channels, plan.reduction = reduction;
  plan.program = flatten(Expr::arg(0, Scalar::f32));
  plan.results = {DType::f32};
  return plan;
}

TEST(CudaWindow, MaximaAndSumsOfEveryWindow) {
  for (const CudaTarget& target : {CudaTarget(75), CudaTarget(80)})
    for (const Places& at : {kPadded, kUneven, kGlobal})
      for (const int64_t channels : {3, 16}) {
        const PlaneWindow& p = at.plane;
        DeviceVector<float> x = numbers(at.images * p.height * p.width * channels, 1);
        DeviceVector<float> most(static_cast<size_t>(results_of(at, channels))), sums(most.size());
        ReduceWindowArgs args{.x = x.data(), .epilogue = {most.data()}, .images = at.images};
        CudaPlan(window_plan(at, channels, Kind::max), target).run(args, {reads(x), writes(most)});
        args.epilogue = {sums.data()};
        CudaPlan(window_plan(at, channels, Kind::sum), target).run(args, {reads(x), writes(sums)}, true);
        const std::vector<Expected> all = expected(at, channels, x, {});
        for (size_t i = 0; i < all.size(); ++i) {
          ASSERT_EQ(most[i], all[i].most) << p.to_text() << " " << channels << " " << i;
          ASSERT_NEAR(sums[i], all[i].sum, bound_of(all[i])) << p.to_text() << " " << channels << " " << i;
        }
      }
}

TEST(CudaWindow, MeansOverTapsThatCountOnPlanesOfAnySize) {
  for (const Places& at : {kPadded, kGlobal}) {
    constexpr int64_t kChannels = 8;
    ReduceWindowPlan plan = window_plan(at, kChannels, Kind::sum);
    plan.program = flatten(Expr::arg(0, Scalar::f32) / Expr::arg(1, Scalar::f32));
    DeviceVector<float> x = numbers(at.images * at.plane.height * at.plane.width * kChannels, 2);
    DeviceVector<float> y(static_cast<size_t>(results_of(at, kChannels)));
    ReduceWindowArgs args{.x = x.data(), .epilogue = {y.data()}, .images = at.images};
    for_any_plane(plan, args, {}, true);
    CudaPlan(plan, CudaTarget(80)).run(args, {reads(x), writes(y)});
    const std::vector<Expected> all = expected(at, kChannels, x, {});
    for (size_t i = 0; i < all.size(); ++i)
      ASSERT_NEAR(y[i], all[i].sum / static_cast<double>(all[i].taps),
                  2 * bound_of(all[i]) / static_cast<double>(all[i].taps))
          << i;
  }
}

TEST(CudaWindow, TapsThatCountOnAPlaneOfKnownSize) {
  constexpr int64_t kChannels = 4;
  ReduceWindowPlan plan = window_plan(kPadded, kChannels, Kind::sum);
  plan.program = flatten(Expr::arg(1, Scalar::f32) + 0.0f * Expr::arg(0, Scalar::f32));
  plan.taps_down = {2, 3, 3, 2}, plan.taps_across = {2, 3, 3, 1};
  DeviceVector<float> x = numbers(2 * 7 * 7 * kChannels, 3), y(static_cast<size_t>(results_of(kPadded, kChannels)));
  const ReduceWindowArgs args{.x = x.data(), .epilogue = {y.data()}, .images = 2};
  CudaPlan(plan, CudaTarget(80)).run(args, {reads(x), writes(y)});
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(y[i], plan.taps_down[i / kChannels / 4 % 4] * plan.taps_across[i / kChannels % 4]) << i;
}

TEST(CudaWindow, DepthwiseProductsWithABiasOfChannels) {
  for (const int64_t channels : {5, 24}) {
    ReduceWindowPlan plan = window_plan(kPadded, channels, Kind::products);
    plan.operands = {{DType::f32, Epilogue::Access::column}};
    plan.program = flatten(Expr::arg(0, Scalar::f32) + Expr::arg(2, Scalar::f32));
    const DeviceVector<float> numbers_of_weights = numbers(channels * 9, 5);
    const std::vector<float> weights(numbers_of_weights.begin(), numbers_of_weights.end());
    DeviceVector<float> x = numbers(2 * 7 * 7 * channels, 4), bias = numbers(channels, 6);
    DeviceVector<float> y(static_cast<size_t>(results_of(kPadded, channels)));
    const Buffer laid_out =
        lay_out(CudaDevice(CudaTarget(80)), plan, Tensor::of<float>({channels, 1, 3, 3}, weights), 1);
    DeviceVector<std::byte> w(laid_out.bytes().begin(), laid_out.bytes().end());
    const ReduceWindowArgs args{
        .x = x.data(), .w = w.data(), .epilogue = {bias.data(), y.data()}, .images = kPadded.images};
    CudaPlan(plan, CudaTarget(80)).run(args, {reads(x), reads(w), reads(bias), writes(y)});
    const std::vector<Expected> all = expected(kPadded, channels, x, weights);
    for (size_t i = 0; i < all.size(); ++i) {
      const double b = bias[i % static_cast<size_t>(channels)];
      ASSERT_NEAR(y[i], all[i].sum + b, bound_of(all[i]) + 0x1p-23 * std::abs(all[i].sum + b)) << i;
    }
  }
}

TEST(CudaWindow, CodesAreRefused) {
  ReduceWindowPlan plan = window_plan(kPadded, 4, Kind::products);
  plan.x = DType::u8;
  EXPECT_EQ(supports(CudaDevice(CudaTarget(80)), plan).why, "products of codes under a window");
}

}  // namespace
}  // namespace hone
