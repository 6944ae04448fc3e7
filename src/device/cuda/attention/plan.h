// What CUDA decides of attention beside its class.
#pragma once

#include <cstdint>

#include "kernels/attention/plan.h"

namespace hone {

// Where `splits`, blocks of few rows are ranges of keys: what they sum goes to memory that the steps share, where the
// plan of the task `join` makes results of it, of the same arguments. `few`: the queries that share keys are not more
// than a block of the smallest kind has.
//   items     B * kv_heads * blocks of rows of the heads that share keys * ranges of keys; join: without ranges of keys
struct CudaAttentionPlan : AttentionPlan {
  using Extends = AttentionPlan;
  enum class Task : uint8_t { attend, join } task = Task::attend;
  bool splits = false, few = false;
  static constexpr auto fields() {
    using P = CudaAttentionPlan;
    return std::tuple_cat(AttentionPlan::fields(),
                          std::tuple(field("task", &P::task), field("splits", &P::splits), field("few", &P::few)));
  }
};

// With what launch() derives from the sizes: rows of a head before those of the next, blocks of the rows of a group of
// heads, and ranges of keys.
struct CudaAttentionArgs : AttentionArgs {
  int64_t per_head = 0, blocks = 0, ranges = 0;
  static constexpr auto places() {
    using A = CudaAttentionArgs;
    return std::tuple_cat(AttentionArgs::places(), std::tuple(SizesFrom{40}, &A::per_head, &A::blocks, &A::ranges));
  }
};

}  // namespace hone
