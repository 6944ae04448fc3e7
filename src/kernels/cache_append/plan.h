// Rows appended to paged sequences.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/kernel.h"

namespace hone {

// Bytes of the new rows of each sequence, to where its page table has the rows behind its last; or, first, of all pages
// to where the result lies, if that is elsewhere.
//   pointers  [0] [1] [2] from, by plane (codes or elements, scales, zero points): rows, or pages; [3] [4] [5] to,
//             [6] the page table, [7] lengths
//   dims      [0] sequences, [1] new rows of each, [2] rows of a page, [3] pages of a sequence, [4] pages,
//             [5] [6] [7] bytes of a row, by plane
//   items     new rows of all sequences; copy: pages
struct CacheAppendPlan {
  enum class Task : uint8_t { append, copy } task = Task::append;
  DType table = DType::i64, lengths = DType::i64;
  int planes = 1;
  static constexpr auto fields() {
    return std::tuple(field("task", &CacheAppendPlan::task), field("table", &CacheAppendPlan::table),
                      field("lengths", &CacheAppendPlan::lengths), field("planes", &CacheAppendPlan::planes));
  }
  static const KernelDef& kernel();
};

Support lower_cache_append(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
