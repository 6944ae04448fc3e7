// Resize kernels for CUDA: the weighted sums of the elements that places read, in the order of the CPU's.
#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "kernels/resize/plan.h"
#include "tests/device_cuda/run_plan.h"

namespace hone {
namespace {

using namespace test;

// Two images of 3 x 4, two channels, to 5 x 7: two taps down, three across.
ResizePlan plan_of_tables(Philox& rng) {
  ResizePlan plan{.height = 3, .width = 4, .channels = 2};
  const auto axis = [&](int64_t taps, int64_t places, uint64_t size) {
    ResizePlan::Axis a{.taps = taps};
    for (int64_t i = 0; i < taps * places; ++i)
      a.positions.push_back(static_cast<int64_t>(rng.below(size))), a.weights.push_back(rng.normal());
    return a;
  };
  plan.rows = axis(2, 5, 3), plan.columns = axis(3, 7, 4);
  return plan;
}

std::vector<float> expected_of(const ResizePlan& plan, const DeviceVector<float>& x) {
  std::vector<float> out;
  const auto at = [&](int64_t image, int64_t y, int64_t column, int64_t c) {
    return x[static_cast<size_t>(((image * 3 + y) * 4 + column) * 2 + c)];
  };
  for (int64_t image = 0; image < 2; ++image)
    for (size_t y = 0; y < 5; ++y)
      for (size_t column = 0; column < 7; ++column)
        for (int64_t c = 0; c < 2; ++c) {
          float sum = 0;
          for (size_t i = 0; i < 2; ++i) {
            float row = 0;
            for (size_t j = 0; j < 3; ++j) {
              const float v = at(image, plan.rows.positions[2 * y + i], plan.columns.positions[3 * column + j], c),
                          w = plan.columns.weights[3 * column + j];
              row = j ? std::fma(v, w, row) : v * w;
            }
            sum = i ? std::fma(row, plan.rows.weights[2 * y + i], sum) : row * plan.rows.weights[2 * y + i];
          }
          out.push_back(sum);
        }
  return out;
}

TEST(CudaResize, TablesInTheCodeAndAsArgumentsGiveTheCpusBits) {
  Philox rng(1);
  const ResizePlan known = plan_of_tables(rng);
  DeviceVector<float> x(2 * 3 * 4 * 2);
  for (float& v : x) v = rng.normal();
  const std::vector<float> expected = expected_of(known, x);
  for (const bool any_plane : {false, true}) {
    ResizePlan plan = known;
    ResizeArgs args{.images = 2};
    ResizeTables tables;
    if (any_plane) tables = for_any_plane(plan, args);
    DeviceVector<int64_t> rows(tables.rows.positions.begin(), tables.rows.positions.end()),
        columns(tables.columns.positions.begin(), tables.columns.positions.end());
    DeviceVector<float> row_weights(tables.rows.weights.begin(), tables.rows.weights.end()),
        column_weights(tables.columns.weights.begin(), tables.columns.weights.end()), out(expected.size());
    args.x = x.data(), args.out = out.data();
    args.row_positions = rows.data(), args.column_positions = columns.data();
    args.row_weights = row_weights.data(), args.column_weights = column_weights.data();
    CudaPlan(plan, CudaTarget(any_plane ? 75 : 80))
        .run(args, {reads(x), reads(rows), reads(columns), reads(row_weights), reads(column_weights), writes(out)});
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], expected[i]) << i << " any plane " << any_plane;
  }
}

}  // namespace
}  // namespace hone
