// How many instructions a warp executes for one step of each kernel, as PTX. LLVM's passes, and what an emitter asks of
// them, show here: a rewritten instruction, an access taken apart, a loop-invariant that came back into a loop. Where a
// change is meant, the numbers are new.
#include <gtest/gtest.h>

#include "ir/op_def.h"
#include "kernels/columns/plan.h"
#include "kernels/pointwise/plan.h"
#include "kernels/reduce_window/plan.h"
#include "kernels/row/plan.h"
#include "kernels/transpose/plan.h"
#include "tests/device_cuda/run_plan.h"

namespace hone {
namespace {

using namespace test;
using Inner = PointwisePlan::Inner;

constexpr int kSum = static_cast<int>(Reduction::Kind::sum), kMax = static_cast<int>(Reduction::Kind::max);

Expr f32_arg(int position) { return Expr::arg(position, Scalar::f32); }

// Instructions of a warp and step: all, loads and stores of global memory.
struct Golden {
  int64_t all, loads, stores;
  bool operator==(const Golden&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Golden& g) {
  return out << "{" << g.all << ", " << g.loads << ", " << g.stores << "}";
}
Golden counted(const CudaPlan& kernel, const ptx::Counts& counts, int64_t steps) {
  const auto each = [&](int64_t executed) {
    EXPECT_EQ(executed % steps, 0);
    return executed / steps;
  };
  return {each(counts.all().executed), each(counts.of(kernel.kernel(), "ld.global").executed),
          each(counts.of(kernel.kernel(), "st.global").executed)};
}
Golden operator-(const Golden& a, const Golden& b) { return {a.all - b.all, a.loads - b.loads, a.stores - b.stores}; }

// A thread's vector, over blocks that are full.
Golden of_pointwise(const Expr& result, DType x, DType y) {
  PointwisePlan plan;
  plan.operands = {{x, Inner::contiguous}};
  plan.results = {y};
  plan.program = flatten(result);
  constexpr int64_t kElements = 4096;
  DeviceVector<std::byte> in(kElements * static_cast<size_t>(size_bytes(x))),
      out(kElements * static_cast<size_t>(size_bytes(y)));
  const CudaPlan kernel(plan, CudaTarget(80));
  const PointwiseKernelArgs args{.values = {in.data(), out.data()}, .sizes = {kElements, 1}};
  const int64_t lanes = 16 / std::max(size_bytes(x), size_bytes(y));
  return counted(kernel, kernel.run(args, {reads(in), writes(out)}), kElements / lanes / 32);
}

TEST(CudaGolden, PointwiseVectors) {
  const Expr x = f32_arg(0);
  EXPECT_EQ(of_pointwise(x, DType::f32, DType::f32), (Golden{34, 1, 1}));
  EXPECT_EQ(of_pointwise(x, DType::bf16, DType::bf16), (Golden{66, 1, 1}));
  EXPECT_EQ(of_pointwise(max(x, 0.0f), DType::f32, DType::f32), (Golden{38, 1, 1}));
  EXPECT_EQ(of_pointwise(exp(x), DType::f32, DType::f32), (Golden{138, 1, 1}));
  EXPECT_EQ(of_pointwise(x * 0.5f, DType::f32, DType::bf16), (Golden{42, 1, 1}));
}

// One more round of a block's threads over a row of x, all passes together.
Golden of_row(const RowPlan& plan) {
  const CudaPlan kernel(plan, CudaTarget(80));
  const auto over = [&](int64_t length) {
    DeviceVector<float> x(static_cast<size_t>(length)), y(x.size());
    const RowArgs args{.values = {x.data(), y.data()}, .rows = 1, .length = length, .strides = {length}};
    return counted(kernel, kernel.run(args, {reads(x), writes(y)}), 8);
  };
  return over(4096) - over(3072);
}

TEST(CudaGolden, RoundsOfRows) {
  RowPlan softmax;
  softmax.operands = {{DType::f32}};
  softmax.reductions = {{kMax, flatten(f32_arg(0)), false}, {kSum, flatten(exp(f32_arg(0) - f32_arg(2))), true}};
  softmax.program = flatten(f32_arg(5) / f32_arg(3));
  softmax.results = {DType::f32};
  softmax.lies = {RowPlan::Lies::rows};
  EXPECT_EQ(of_row(softmax), (Golden{262, 3, 1}));
  RowPlan rms;
  rms.operands = {{DType::f32}};
  rms.reductions = {{kSum, flatten(f32_arg(0) * f32_arg(0)), false}};
  rms.program = flatten(f32_arg(0) / sqrt(f32_arg(2) / f32_arg(1)));
  rms.results = {DType::f32};
  rms.lies = {RowPlan::Lies::rows};
  EXPECT_EQ(of_row(rms), (Golden{36, 2, 1}));
}

TEST(CudaGolden, FourRowsOfColumns) {
  ColumnsPlan plan;
  plan.operands = {{DType::f32, Epilogue::Access::full}};
  plan.reductions = {{kSum, flatten(f32_arg(0))}};
  plan.program = flatten(f32_arg(1));
  plan.results = {DType::f32};
  const CudaPlan kernel(plan, CudaTarget(80));
  const auto over = [&](int64_t rows) {
    constexpr int64_t kColumns = 128;
    DeviceVector<float> x(static_cast<size_t>(rows * kColumns)), y(kColumns);
    const ColumnsArgs args{
        .values = {x.data(), y.data()}, .rows = rows, .columns = kColumns, .matrices = 1, .operands = {kColumns}};
    return counted(kernel, kernel.run(args, {reads(x), writes(y)}), 1);
  };
  const Golden eight_warps = over(96) - over(64);
  EXPECT_EQ((Golden{eight_warps.all / 8, eight_warps.loads / 8, eight_warps.stores}), (Golden{66, 4, 0}));
}

TEST(CudaGolden, TapsOfWindows) {
  const auto over = [](ReduceWindowPlan::Reduction reduction, int64_t taps) {
    ReduceWindowPlan plan;
    plan.plane = {.width = 8 * taps, .out_width = 8, .kernel_width = taps, .stride_x = taps};
    plan.channels = 64, plan.reduction = reduction;
    plan.program = flatten(f32_arg(0));
    plan.results = {DType::f32};
    const CudaPlan kernel(plan, CudaTarget(80));
    DeviceVector<float> x(static_cast<size_t>(8 * taps * 64)), w(static_cast<size_t>(taps * 64)), y(8 * 64);
    const ReduceWindowArgs args{.x = x.data(), .w = w.data(), .epilogue = {y.data()}, .images = 1};
    return counted(kernel, kernel.run(args, {reads(x), reads(w), writes(y)}), 4);
  };
  using Kind = ReduceWindowPlan::Reduction;
  EXPECT_EQ(over(Kind::max, 5) - over(Kind::max, 4), (Golden{14, 1, 0}));
  EXPECT_EQ(over(Kind::products, 5) - over(Kind::products, 4), (Golden{19, 2, 0}));
}

TEST(CudaGolden, TilesOfTransposes) {
  const CudaPlan kernel(TransposePlan{.element_bytes = 2}, CudaTarget(80));
  DeviceVector<uint16_t> x(32 * 64), out(x.size());
  const TransposeKernelArgs args{x.data(), out.data(), 1, 32, 64, 0, 0, 64, 32};
  EXPECT_EQ(counted(kernel, kernel.run(args, {reads(x), writes(out)}), 16), (Golden{173, 4, 4}));
}

}  // namespace
}  // namespace hone
