// Transposes, byte for byte, with nothing touched beside x and the result.
#include <gtest/gtest.h>

#include "kernels/transpose/plan.h"
#include "tests/device/x86/at_the_edge.h"
#include "tests/device/x86/kernel_runner.h"

namespace hone {
namespace {

using namespace test;

template <class T>
void expect_transposed(int64_t planes, int64_t rows, int64_t columns, const X86Target& target) {
  const int64_t lanes = target.lanes();
  const TransposePlan plan{.element_bytes = sizeof(T),
                           .rows = rows < lanes ? rows : 0,
                           .columns = columns < lanes && rows >= lanes ? columns : 0};
  std::vector<T> x(static_cast<size_t>(planes * rows * columns));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 7 + 1);
  AtTheEdge in(std::as_bytes(std::span(x)));
  Guarded out(x.size() * sizeof(T));
  const KernelArgs args = to_args(TransposeKernelArgs{.x = in.data(),
                                                      .out = out.data(),
                                                      .planes = planes,
                                                      .rows = rows,
                                                      .columns = columns,
                                                      .x_plane = rows * columns,
                                                      .out_plane = rows * columns,
                                                      .x_row = columns,
                                                      .out_row = rows});
  CompiledPlan(plan, target).run(args, 2);
  for (int64_t p = 0; p < planes; ++p)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        ASSERT_EQ(out.as<T>()[static_cast<size_t>((p * columns + j) * rows + i)],
                  x[static_cast<size_t>((p * rows + i) * columns + j)])
            << rows << "x" << columns << " of " << sizeof(T) << " bytes " << to_string(target);
  EXPECT_TRUE(out.intact());
}

TEST(Transpose, AnyRowsAndColumnsOfEveryElementSize) {
  for (const X86Target& target : target_levels())
    for (int64_t rows : {1, 3, 8, 16, 31, 1100})
      for (int64_t columns : {1, 3, 7, 16, 50}) {
        expect_transposed<uint32_t>(2, rows, columns, target);
        expect_transposed<uint16_t>(1, rows, columns, target);
        expect_transposed<uint8_t>(3, rows, columns, target);
      }
}

}  // namespace
}  // namespace hone
