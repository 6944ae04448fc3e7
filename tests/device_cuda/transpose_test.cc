// Transposes for CUDA: all sizes of elements, ragged tiles, rows that lie apart; whole sectors and no bank met twice.
#include "kernels/transpose/plan.h"

#include <gtest/gtest.h>

#include "tests/device_cuda/run_plan.h"

namespace hone {
namespace {

using namespace test;

template <class T>
void expect_transposed(int64_t planes, int64_t rows, int64_t columns, bool backwards) {
  const CudaPlan kernel(TransposePlan{.element_bytes = sizeof(T)}, CudaTarget(80));
  const int64_t x_row = columns + 3, out_row = rows + 1, x_plane = x_row * rows + 2, out_plane = out_row * columns;
  DeviceVector<T> x(static_cast<size_t>(planes * x_plane)), out(static_cast<size_t>(planes * out_plane), T(9));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 7 + 1);
  const TransposeKernelArgs args{x.data(), out.data(), planes, rows, columns, x_plane, out_plane, x_row, out_row};
  kernel.run(args, {reads(x), writes(out)}, backwards);
  for (int64_t p = 0; p < planes; ++p)
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < out_row; ++i)
        ASSERT_EQ(out[static_cast<size_t>(p * out_plane + j * out_row + i)],
                  i < rows ? x[static_cast<size_t>(p * x_plane + i * x_row + j)] : T(9))
            << p << " " << j << " " << i;
}

TEST(CudaTranspose, ElementsOfEverySizeInRaggedTiles) {
  expect_transposed<uint32_t>(2, 33, 70, false);
  expect_transposed<uint16_t>(1, 64, 31, true);
  expect_transposed<uint8_t>(3, 5, 100, false);
}

TEST(CudaTranspose, SectorsAreWholeAndBanksAreNotMetTwice) {
  for (const int bytes : {1, 2, 4}) {
    const CudaPlan kernel(TransposePlan{.element_bytes = bytes}, CudaTarget(80));
    constexpr int64_t kRows = 64, kColumns = 96;
    DeviceVector<std::byte> x(static_cast<size_t>(kRows * kColumns * bytes)), out(x.size());
    const TransposeKernelArgs args{x.data(), out.data(), 1, kRows, kColumns, 0, 0, kColumns, kRows};
    const ptx::Counts counts = kernel.run(args, {reads(x), writes(out)});
    EXPECT_EQ(kernel.sectors_over_least(counts), 1.0) << bytes;
    EXPECT_EQ(kernel.bank_cycles_over_least(counts), 1.0) << bytes;
  }
}

}  // namespace
}  // namespace hone
