// Rows of a table by their numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace hone {

// out[i, :] = table[ids[i], :], decoded; or each row of the table, in order. The caller has checked that ids are in
// range (negative ones count from the end).
//   pointers  [0] table or codes plane, [1] scales plane or null, [2] ids or null, [3] out, [4] zero points or null,
//             [5] global scale or null
// Several tables of equal size lie one behind the other, and so do their results.
//   dims      [0] results: tables * ids, [1] rows of a table, [2] ids (of each row: rows)
//   items     results
struct GatherPlan {
  int64_t columns = 0;
  DType table = DType::f32;
  std::string table_format;  // canonical format string when packed
  int64_t rows = 0;          // of a packed table, on which the places of its codes and scales may depend
  bool every_row = false;
  DType ids = DType::i64;
  DType result = DType::f32;
  static constexpr auto fields() {
    return std::tuple(field("columns", &GatherPlan::columns), field("table", &GatherPlan::table),
                      field("table_format", &GatherPlan::table_format), field("rows", &GatherPlan::rows),
                      field("every_row", &GatherPlan::every_row), field("ids", &GatherPlan::ids),
                      field("result", &GatherPlan::result));
  }
  static const KernelDef& kernel();
};

Support lower_gather(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
