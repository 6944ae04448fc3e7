// Gathers by indices for CUDA.
#include <gtest/gtest.h>

#include <numeric>

#include "kernels/indexed/plan.h"
#include "tests/device_cuda/run_plan.h"

namespace hone {
namespace {

using namespace test;

// Slices of `columns` bytes of [3, 4, columns] by pairs of indices, some from the end.
TEST(CudaIndexed, SlicesByTuples) {
  for (const int64_t columns : {1, 4, 6, 32, 100}) {
    DeviceVector<uint8_t> data(static_cast<size_t>(12 * columns)), out(static_cast<size_t>(3 * columns));
    std::iota(data.begin(), data.end(), uint8_t{0});
    DeviceVector<int32_t> indices{2, 1, 0, -1, -3, 3};
    IndexedArgs args{.data = data.data(), .indices = indices.data(), .out = out.data(), .tuples = 3};
    args.slice_bytes = columns, args.index_count = 6;
    args.axes[0] = 3, args.axes[1] = 4, args.axes[2] = 4 * columns, args.axes[3] = columns;
    for (const int64_t known : {columns, int64_t{0}}) {
      const IndexedPlan plan{.rank = 2, .slice_bytes = known, .indices = DType::i32};
      CudaPlan(plan, CudaTarget(80)).run(args, {reads(data), reads(indices), writes(out)});
      const int64_t rows[] = {2 * 4 + 1, 3, 3};
      for (int64_t i = 0; i < 3 * columns; ++i)
        ASSERT_EQ(out[static_cast<size_t>(i)], data[static_cast<size_t>(rows[i / columns] * columns + i % columns)])
            << columns << " at " << i;
    }
  }
}

// Of [3, 5] along axis 1 by indices [3, 2].
TEST(CudaIndexed, ElementsAlongAnAxis) {
  DeviceVector<float> data(15), out(6);
  std::iota(data.begin(), data.end(), 0.0f);
  DeviceVector<int64_t> indices{0, 4, -1, 2, 3, -5};
  IndexedArgs args{.data = data.data(), .indices = indices.data(), .out = out.data(), .tuples = 3};
  args.slice_bytes = 4, args.index_count = 6;
  args.axes[0] = 3, args.axes[1] = 2, args.axes[2] = 20, args.axes[3] = 0, args.axes[4] = 5, args.axes[5] = 4;
  CudaPlan(IndexedPlan{.tuples = false, .rank = 2, .slice_bytes = 4}, CudaTarget(75))
      .run(args, {reads(data), reads(indices), writes(out)});
  EXPECT_EQ(out, (DeviceVector<float>{0, 4, 9, 7, 13, 10}));
}

TEST(CudaIndexed, SaysWhatItHasNoCodeFor) {
  EXPECT_EQ(supports(CudaDevice(CudaTarget(80)), IndexedPlan{.scatters = true}).why,
            "updates that are made one after the other");
}

}  // namespace
}  // namespace hone
