// What follows from the plan of a matrix product.
#include <algorithm>

#include "codegen/kernels/gemm/describe.h"
#include "codegen/kernels/gemm/prepack.h"
#include "codegen/kernels/gemm/shape.h"

namespace hone {
namespace {

// About 20 us: 2 MFLOP at 100 GFLOP/s, or 512 KB of weights at 25 GB/s when there are few rows.
KernelNeeds needs(const GemmPlan& plan, const Target& target) {
  const GemmShape s = gemm_shape(plan, target);
  const int64_t rows = plan.m_hint > 0 ? std::min(plan.m_hint, s.rows_per_block) : s.rows_per_block;
  const int64_t flops = 2 * rows * plan.k * s.panel_columns() * s.item_panels;
  const int64_t items = std::min((int64_t{2} << 20) / flops, (int64_t{512} << 10) / (s.panel_bytes() * s.item_panels));
  return {.scratch_bytes = s.scratch_bytes(), .items_per_chunk = std::max<int64_t>(1, items)};
}

int64_t items(const GemmPlan& plan, const Target& target, const KernelArgs& args) {
  return gemm_items(plan, target, args.dims[0], args.dims[1]);
}

std::string describe(const GemmPlan& plan, const Target& target) {
  const GemmShape s = gemm_shape(plan, target);
  return fmt::format("k {} n {}: tile {}x{}, {} panels, blocks of {} rows, {}, {}", plan.k, plan.n, s.rows,
                     s.panel_columns(), s.panels(), s.rows_per_block, weights_of(plan, s), products_of(s));
}

bool can_shrink(const GemmPlan& plan, const Target& target, int shrink) {
  return gemm_shape(plan, target, shrink).rows < gemm_shape(plan, target, shrink - 1).rows;
}

KernelSpeed speed(const GemmPlan& plan) { return {0.98, 0.6 * used_columns(plan.n), plan.a == DType::bf16}; }

constexpr KernelClass<GemmPlan> gemm{
    .name = "gemm",
    .doc = "matrix products, with constant weights packed or plain, or with activations",
    .supports = gemm_refusal,
    .needs = needs,
    .items = items,
    .describe = describe,
    .can_shrink = can_shrink,
    .speed = speed,
    .prepack_key = prepack_key,
    .prepacked_bytes = prepacked_bytes,
    .prepack = prepack};

}  // namespace

extern constinit const KernelDef gemm_kernel_def = kernel_def<gemm>();
const KernelDef& GemmPlan::kernel() { return gemm_kernel_def; }

}  // namespace hone
