#include "device/cuda/gemm/shape.h"

#include <algorithm>
#include <bit>

namespace hone {
namespace {

bool is_prepacked(const GemmPlan& plan) { return plan.weights == GemmPlan::Weights::prepacked; }

int64_t blocks_of(const CudaTile& tile, int64_t m, int64_t n) {
  return ceil_div(m, int64_t{tile.rows()}) * ceil_div(n, int64_t{tile.columns()});
}

// How many warps share the k of a few rows: as many as have a slab. Of an open k, none do.
int few_warps(int64_t k, int depth, int most) {
  return k == 0 ? 1 : static_cast<int>(std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(k / depth, 1, most))));
}

// Weights are read once, and each read is 1 KB of a warp. Eight warps with 32 columns each keep 16 KB on the way.
CudaTile tile_of_few(const GemmPlan& plan, bool pairs) {
  if (!is_prepacked(plan)) {  // lines of 64 columns
    if (pairs) return {.warps_n = 4, .row_tiles = plan.a_by_columns ? 4 : 1, .stages = 3};
    return {.warps_n = 2, .column_tiles = 2};
  }
  if (pairs) return {.warps_k = few_warps(plan.k, 64, 8), .column_tiles = 2, .stages = 4};
  return {.warps_k = few_warps(plan.k, 32, 4), .column_tiles = 2};
}

// The largest first. Bits do not depend on the choice. 128 rows a warp: weights are decoded once for eight products;
// 128 sums, 32 registers of rows and 40 of weights.
constexpr CudaTile kPairTiles[] = {{.warps_n = 4, .row_tiles = 8, .column_tiles = 2, .stages = 3},
                                   {.warps_n = 4, .row_tiles = 4, .column_tiles = 2, .stages = 3},
                                   {.warps_n = 4, .row_tiles = 4, .stages = 3},
                                   {.warps_n = 4, .row_tiles = 2, .stages = 3}};
// Eight rows by eight columns a thread: 64 products for 16 numbers read.
constexpr CudaTile kFloatTiles[] = {{.warps_m = 2, .warps_n = 2, .row_tiles = 2, .column_tiles = 4},
                                    {.warps_n = 2, .row_tiles = 2, .column_tiles = 2}};

}  // namespace

CudaProducts cuda_products(const GemmPlan& plan, const CudaTarget& target) {
  const bool fits =
      plan.w_format.empty() ? plan.w == DType::bf16 : multiplies_as_bf16(parse_format(plan.w_format), plan.k);
  return target.has_bf16() && plan.a == DType::bf16 && fits ? CudaProducts::bf16 : CudaProducts::f32;
}

// The largest tile of which every multiprocessor gets one, and else the smallest.
CudaTile cuda_gemm_tile(const GemmPlan& plan, const CudaTarget& target, int64_t m, int64_t n) {
  const bool pairs = cuda_products(plan, target) == CudaProducts::bf16;
  if (m <= kCudaFewRows) return tile_of_few(plan, pairs);
  const std::span<const CudaTile> tiles = pairs ? std::span<const CudaTile>(kPairTiles) : kFloatTiles;
  const CudaTile* chosen = nullptr;
  for (const CudaTile& tile : tiles) {
    if (pairs && plan.a_by_columns && tile.rows() < 64) continue;
    chosen = &tile;
    if (tile.rows() < 2 * m && blocks_of(tile, m, n) >= target.multiprocessors()) break;
  }
  return *chosen;
}

CudaGemmShape cuda_gemm_shape(const CudaGemmPlan& plan, const CudaTarget& target) {
  CudaGemmShape s{.products = cuda_products(plan, target), .tile = plan.tile};
  if (!target.has_async_copy()) s.tile.stages = 2;
  if (is_prepacked(plan)) s.weights = weight_tiles(plan, s.pairs() ? TileOrder::fragments : TileOrder::runs);
  if (!is_prepacked(plan) || !s.pairs()) s.w_slab_bytes = s.tile.columns() * CudaGemmShape::kLine;
  return s;
}

int64_t CudaGemmShape::shared_bytes() const {
  return std::max(tile.stages * stage_bytes(), tile.warps_k * sums_slab_bytes());
}

Support cuda_gemm_support(const CudaGemmPlan& plan, const CudaTarget& target) {
  if (plan.multiplies_codes()) return {"integer products; CUDA has them for f32 and bf16"};
  const auto is_float = [](DType d) { return d == DType::f32 || d == DType::bf16; };
  const int64_t least = is_prepacked(plan) ? 1 : 0;
  if (plan.n < least || plan.k < least) return {fmt::format("a product with n = {}, k = {}", plan.n, plan.k)};
  if (plan.a_by_columns && least) return {"a transposed left operand beside weights that are laid out"};
  if (!is_float(plan.a) || (plan.w_format.empty() && !is_float(plan.w)))
    return {fmt::format("activations of {} beside weights of {}; f32 and bf16 are multiplied, and packed weights",
                        to_string(plan.a), to_string(plan.w))};
  if (!plan.w_format.empty() && !is_prepacked(plan)) return {"packed activations; only constants are read packed"};
  if (plan.n > INT32_MAX / 2 || plan.k > INT32_MAX / 2)
    return {fmt::format("a product with n = {}, k = {}: sizes are counted in 32 bits", plan.n, plan.k)};
  if (!plan.w_format.empty())
    if (Support r = prepackable(parse_format(plan.w_format)); !r.supported()) return r;
  const CudaGemmShape s = cuda_gemm_shape(plan, target);
  if (s.weights.scales() > INT32_MAX / (4 * s.weights.levels()))
    return {fmt::format("{} scales: they are counted in 32 bits", s.weights.scales())};
  const int64_t shared = s.shared_bytes();
  if (shared > target.shared_bytes())
    return {fmt::format("a tile of {} bytes of shared memory; a block has {}", shared, target.shared_bytes())};
  return {};
}

std::string describe_gemm(const CudaGemmPlan& plan, const CudaTarget& target) {
  const CudaGemmShape s = cuda_gemm_shape(plan, target);
  const CudaTile& t = s.tile;
  const auto size = [](int64_t extent) { return extent ? std::to_string(extent) : std::string("any"); };
  const std::string type = plan.w_format.empty() ? std::string(to_string(plan.w)) : plan.w_format;
  const std::string weights =
      !is_prepacked(plan) ? fmt::format("{} right operand in shared memory", type)
      : s.pairs()
          ? fmt::format(
                "{} weights, 16 x 64 a warp, decoded in registers (lane l: columns l/4 + 8j, k 16s + 8r + "
                "2(l%4) + e)",
                type)
          : fmt::format("{} weights, 32 x 32 a warp, decoded to shared memory (lane l: columns l/4 + 8j, k 8(l%4) + i)",
                        type);
  return fmt::format(
      "k {} n {}: a block has {} rows x {} columns, its {} warps ({} by rows, {} by columns, {} by k) {} x {} each; "
      "{}; {}",
      size(plan.k), size(plan.n), t.rows(), t.columns(), t.warps(), t.warps_m, t.warps_n, t.warps_k, 16 * t.row_tiles,
      16 * t.column_tiles, weights, s.pairs() ? "bf16 products (mma.sync)" : "f32 products (fma)");
}

}  // namespace hone
