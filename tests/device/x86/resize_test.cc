// Resize kernels against the same weighted sums in double.
#include <gtest/gtest.h>

#include <optional>

#include "kernels/resize/plan.h"
#include "tests/device/x86/at_the_edge.h"
#include "tests/device/x86/gemm_run.h"

namespace hone {
namespace {

using namespace test;

// Random positions, with weights that sum up to 1.
ResizePlan::Axis random_axis(int64_t length, int64_t places, int64_t taps, Philox& rng) {
  ResizePlan::Axis axis{.taps = taps};
  for (int64_t place = 0; place < places; ++place)
    for (int64_t tap = 0; tap < taps; ++tap) {
      axis.positions.push_back(static_cast<int64_t>(rng.below(static_cast<uint32_t>(length))));
      axis.weights.push_back(1 / static_cast<float>(taps));
    }
  axis.positions.front() = 0, axis.positions.back() = length - 1;
  return axis;
}

TEST(Resize, WeightedSumsStayWithinTheBoundAndTheirMemoryInAnyPieces) {
  Philox rng(9);
  for (const X86Target& target : target_levels())
    for (int64_t channels : {1, 3, 8, 16, 21, 48})
      for (int64_t taps : {1, 2, 3}) {
        ResizePlan plan{.height = 5, .width = 7, .channels = channels};
        plan.rows = random_axis(5, 4, taps, rng), plan.columns = random_axis(7, 9, 2, rng);
        const Tensor x = random_tensor(DType::f32, {2, 5, 7, channels}, rng);
        AtTheEdge in(x.data().bytes());
        CompiledPlan kernel(plan, target);
        for (int64_t chunk : {0, 3}) {
          Guarded out(static_cast<size_t>(2 * 4 * 9 * channels) * 4);
          kernel.run(ResizeArgs{.x = in.data(), .out = out.data(), .images = 2}, chunk);
          for (int64_t i = 0; i < 2 * 4 * 9 * channels; ++i) {
            const int64_t c = i % channels, column = i / channels % 9, row = i / channels / 9;
            double sum = 0, size = 0;
            for (int64_t a = 0; a < taps; ++a)
              for (int64_t b = 0; b < 2; ++b) {
                const auto down = static_cast<size_t>(row % 4 * taps + a), across = static_cast<size_t>(column * 2 + b);
                const int64_t pixel = (row / 4 * 5 + plan.rows.positions[down]) * 7 + plan.columns.positions[across];
                const double term = double{plan.rows.weights[down]} * plan.columns.weights[across] *
                                    x.as<float>()[static_cast<size_t>(pixel * channels + c)];
                sum += term, size += std::abs(term);
              }
            ASSERT_NEAR(out.as<float>()[static_cast<size_t>(i)], sum, dot_bound(size, 2 + taps, 0, kEpsF32));
          }
          EXPECT_TRUE(out.intact());
        }
      }
}

TEST(ResizeOfAnyPlane, HasTheBitsOfCodeForEachPlane) {
  Philox rng(10);
  for (const X86Target& target : target_levels())
    for (auto [dtype, channels] : {std::pair<DType, int64_t>{DType::f32, 1}, {DType::bf16, 3}, {DType::f32, 21}}) {
      std::optional<CompiledPlan> general;
      for (auto [height, width] : {std::pair<int64_t, int64_t>{1, 1}, {5, 7}, {2, 40}}) {
        ResizePlan own{.x = dtype, .height = height, .width = width, .channels = channels};
        own.rows = random_axis(height, height + 2, 3, rng), own.columns = random_axis(width, 2 * width + 1, 2, rng);
        ResizePlan any = own;
        ResizeArgs args{.images = 2};
        ResizeTables tables = for_any_plane(any, args);
        if (!general) general.emplace(any, target);
        const Tensor x = random_tensor(dtype, {2, height, width, channels}, rng);
        AtTheEdge in(x.data().bytes());
        const auto bytes = static_cast<size_t>(2 * (height + 2) * (2 * width + 1) * channels) * 4;
        Guarded want(bytes), got(bytes);
        CompiledPlan(own, target).run(ResizeArgs{.x = in.data(), .out = want.data(), .images = 2});
        args.x = in.data(), args.out = got.data();
        args.row_positions = tables.rows.positions.data(), args.row_weights = tables.rows.weights.data();
        args.column_positions = tables.columns.positions.data(), args.column_weights = tables.columns.weights.data();
        general->run(args, 3);
        EXPECT_EQ(std::memcmp(got.data(), want.data(), bytes), 0) << height << " x " << width;
        EXPECT_TRUE(got.intact());
      }
    }
}

}  // namespace
}  // namespace hone
