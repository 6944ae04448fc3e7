// Rows appended to paged sequences, for CUDA.
#include <gtest/gtest.h>

#include <numeric>

#include "kernels/cache_append/plan.h"
#include "tests/device_cuda/run_plan.h"

namespace hone {
namespace {

using namespace test;
using Task = CacheAppendPlan::Task;

// Sequence 0 has five rows in pages 3 and 0 of four rows each, sequence 1 has none, in page 1; two rows join each.
TEST(CudaCacheAppend, RowsGoBehindTheLastOfTheirSequence) {
  for (const size_t row_bytes : {32, 6}) {
    DeviceVector<int64_t> table{3, 0, 1, 2};
    DeviceVector<int32_t> lengths{5, 0};
    DeviceVector<uint8_t> rows(4 * row_bytes), scales(4), pages(4 * 4 * row_bytes, 200), page_scales(16, 200);
    std::iota(rows.begin(), rows.end(), uint8_t{0});
    std::iota(scales.begin(), scales.end(), uint8_t{1});
    CacheAppendArgs args{.table = table.data(),
                         .lengths = lengths.data(),
                         .sequences = 2,
                         .new_rows = 2,
                         .page_rows = 4,
                         .sequence_pages = 2,
                         .pages = 4,
                         .row_bytes = {static_cast<int64_t>(row_bytes), 1, 0}};
    args.from = {rows.data(), scales.data(), nullptr}, args.to = {pages.data(), page_scales.data(), nullptr};
    const CudaPlan kernel(CacheAppendPlan{.lengths = DType::i32, .planes = 2}, CudaTarget(80));
    kernel.run(args, {reads(table), reads(lengths), reads(rows), reads(scales), writes(pages), writes(page_scales)});
    const size_t places[] = {0 * 4 + 1, 0 * 4 + 2, 1 * 4 + 0, 1 * 4 + 1};
    std::vector<uint8_t> expected(pages.size(), 200);
    for (size_t r = 0; r < 4; ++r) {
      std::copy_n(rows.begin() + static_cast<ptrdiff_t>(r * row_bytes), row_bytes,
                  expected.begin() + static_cast<ptrdiff_t>(places[r] * row_bytes));
      EXPECT_EQ(page_scales[places[r]], scales[r]);
    }
    EXPECT_TRUE(std::ranges::equal(pages, expected));
  }
}

TEST(CudaCacheAppend, PagesAreCopiedToWhereTheResultLies) {
  DeviceVector<uint8_t> from(3 * 5 * 7), to(from.size());
  std::iota(from.begin(), from.end(), uint8_t{0});
  CacheAppendArgs args{.page_rows = 5, .pages = 3, .row_bytes = {7, 0, 0}};
  args.from = {from.data(), nullptr, nullptr}, args.to = {to.data(), nullptr, nullptr};
  CudaPlan(CacheAppendPlan{.task = Task::copy}, CudaTarget(75)).run(args, {reads(from), writes(to)});
  EXPECT_EQ(from, to);
}

}  // namespace
}  // namespace hone
