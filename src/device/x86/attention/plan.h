// What x86 decides of attention beside its class.
#pragma once

#include <cstdint>

#include "kernels/attention/plan.h"

namespace hone {

// Where `splits`, items of few queries are ranges of keys: what they sum goes to shared memory, where the plan of the
// task `join` makes results of it, of the same arguments.
//   items     B * kv_heads * blocks of heads * blocks of queries * ranges of keys; join: without ranges of keys
struct X86AttentionPlan : AttentionPlan {
  using Extends = AttentionPlan;
  enum class Task : uint8_t { attend, join } task = Task::attend;
  bool splits = false;  // lengths may be such that keys are split
  static constexpr auto fields() {
    return std::tuple_cat(AttentionPlan::fields(), std::tuple(field("task", &X86AttentionPlan::task),
                                                              field("splits", &X86AttentionPlan::splits)));
  }
};

// With what launch() derives from the sizes: heads and queries of an item, whether keys are read in rows, rows of a
// head in a strip (AttentionItems), ranges of keys and the keys of each.
struct X86AttentionArgs : AttentionArgs {
  int64_t item_heads = 0, item_queries = 0, in_rows = 0, strip_rows = 0, ranges = 0, range_keys = 0;
  static constexpr auto places() {
    using A = X86AttentionArgs;
    return std::tuple_cat(AttentionArgs::places(), std::tuple(SizesFrom{13}, &A::item_heads, &A::item_queries,
                                                              &A::in_rows, &A::strip_rows, &A::ranges, &A::range_keys));
  }
};

}  // namespace hone
