// Rows of a table by their numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/args.h"
#include "kernels/kernel.h"

namespace hone {

// out[i, :] = table[ids[i], :], decoded; or each row of the table, in order. The caller has checked that ids are in
// range (negative ones count from the end).
// Several tables of equal size lie one behind the other, and so do their results, which are the items.
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

struct GatherArgs {
  void *table = nullptr, *scales = nullptr;              // its elements or codes; scales or null
  void *ids = nullptr, *out = nullptr;                   // ids or null
  void *zero_points = nullptr, *global_scale = nullptr;  // or null
  int64_t results = 0;                                   // tables * ids
  int64_t rows = 0, ids_per_table = 0;                   // of each table; of each row: as many ids as rows
  static constexpr auto places() {
    using A = GatherArgs;
    return std::tuple(&A::table, &A::scales, &A::ids, &A::out, &A::zero_points, &A::global_scale, &A::results, &A::rows,
                      &A::ids_per_table);
  }
};

Support lower_gather(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
