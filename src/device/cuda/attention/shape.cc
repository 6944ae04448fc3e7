#include "device/cuda/attention/shape.h"

#include <algorithm>

#include "base/checked.h"
#include "ops/head_rows.h"

namespace hone {
namespace {

constexpr int kWidest = 256;  // columns of a head whose sums registers hold

}  // namespace

CudaAttentionShape::CudaAttentionShape(const CudaAttentionPlan& plan, const CudaTarget& target)
    : by_mma(plan.dtype == DType::bf16 && target.has_bf16()) {
  const int64_t widest = std::max(plan.head_dim, plan.value_dim);
  if (by_mma) {
    rows = plan.few ? 16 : 64, threads = 2 * rows;
    tile_keys = widest <= 64 ? 64 : 32;
    key_columns = round_up(plan.head_dim, 16), value_columns = round_up(plan.value_dim, 16);
    key_stride = key_columns * 2 + 16, value_stride = value_columns * 2 + 16;
  } else {  // at most 32 sums a thread: rows of eight groups of 16 threads
    rows = plan.few ? 8 : widest <= 128 ? 32 : 16;
    tile_keys = widest <= 64 ? 32 : 16;
    key_columns = round_up(plan.head_dim, 8), value_columns = round_up(plan.value_dim, 16);
    key_stride = (key_columns + 4) * 4, value_stride = value_columns * 4;
    weight_stride = (tile_keys + 4) * 4;
  }
  const auto place = [&](int64_t count) {
    stages = static_cast<int>(count);
    int64_t end = 0;
    const auto next = [&](int64_t bytes) {
      const int64_t start = end;
      end += round_up(bytes, 128);
      return start;
    };
    queries_offset = next(rows * key_stride);
    keys_offset = next(stages * key_stage());
    values_offset = next(stages * value_stage());
    weights_offset = next(rows * weight_stride);
    shared_bytes = end;
  };
  place(2);
  if (shared_bytes > target.shared_bytes()) place(1);
}

CudaAttentionBlocks::CudaAttentionBlocks(const CudaAttentionPlan& plan, const CudaAttentionShape& shape,
                                         const CudaAttentionArgs& args) {
  const int64_t sharing = plan.heads / plan.kv_heads;
  per_head = std::max<int64_t>(1, args.queries < shape.rows ? args.queries : round_up(args.queries, shape.rows));
  blocks = ceil_div(sharing * per_head, shape.rows);
  count = args.queries == 0 ? 0 : checked_mul(checked_mul(args.batches, plan.kv_heads), blocks);
  if (plan.splits && blocks == 1 && args.keys > kRangeKeys) ranges = ceil_div(args.keys, kRangeKeys);
}

int64_t attention_shared_bytes(const CudaAttentionPlan& plan, const CudaTarget& target, const CudaAttentionArgs& args) {
  const CudaAttentionShape shape(plan, target);
  const CudaAttentionBlocks blocks(plan, shape, args);
  return blocks.ranges > 1 ? checked_mul(checked_mul(blocks.count, blocks.ranges), shape.state_bytes()) : 0;
}

Support cuda_attention_support(const CudaAttentionPlan& plan, const CudaTarget& target) {
  if (plan.dtype != DType::f32 && plan.dtype != DType::bf16)
    return {fmt::format("q, k and v of {}; f32 and bf16 are multiplied", to_string(plan.dtype))};
  if (plan.heads < 1 || plan.kv_heads < 1 || plan.heads % plan.kv_heads != 0 || plan.head_dim < 1 || plan.value_dim < 1)
    return {
        fmt::format("{} heads over {} of {} and {} columns", plan.heads, plan.kv_heads, plan.head_dim, plan.value_dim)};
  for (const auto& [format, columns] : {std::pair(plan.k_format, plan.head_dim), {plan.v_format, plan.value_dim}})
    if (!format.empty() && (plan.dtype != DType::f32 || !head_rows(parse_format(format), plan.kv_heads, columns)))
      return {fmt::format("{} heads of {} columns in {}, multiplied as {}", plan.kv_heads, columns, format,
                          to_string(plan.dtype))};
  if (plan.page_rows < 0 || (plan.table != DType::i64 && plan.table != DType::i32))
    return {fmt::format("pages of {} rows, numbered in {}", plan.page_rows, to_string(plan.table))};
  if (plan.head_dim > kWidest || plan.value_dim > kWidest)
    return {fmt::format("heads of {} and {} columns; sums of up to {} fit registers", plan.head_dim, plan.value_dim,
                        kWidest)};
  const CudaAttentionShape shape(plan, target);
  if (shape.shared_bytes > target.shared_bytes())
    return {fmt::format("{} bytes of shared memory; blocks have up to {}", shape.shared_bytes, target.shared_bytes())};
  return {};
}

}  // namespace hone
