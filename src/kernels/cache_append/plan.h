// Rows appended to paged sequences.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "device/args.h"
#include "kernels/kernel.h"

namespace hone {

// Bytes of the new rows of each sequence, to where its page table has the rows behind its last; or, first, of all pages
// to where the result lies, if that is elsewhere.
// Items are new rows of all sequences; copy: pages.
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

struct CacheAppendArgs {
  std::array<void*, 3> from{}, to{};  // by plane (codes or elements, scales, zero points): rows, or pages
  void *table = nullptr, *lengths = nullptr;
  int64_t sequences = 0, new_rows = 0;                   // of each
  int64_t page_rows = 0, sequence_pages = 0, pages = 0;  // rows of a page, pages of a sequence and of all
  std::array<int64_t, 3> row_bytes{};                    // by plane
  static constexpr auto places() {
    using A = CacheAppendArgs;
    return std::tuple(&A::from, &A::to, &A::table, &A::lengths, &A::sequences, &A::new_rows, &A::page_rows,
                      &A::sequence_pages, &A::pages, &A::row_bytes);
  }
};

Support lower_cache_append(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
