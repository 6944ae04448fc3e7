// Rows added up at their numbers: gradients of embeddings.
#pragma once

#include <cstdint>

#include "kernels/gemm/plan.h"

namespace hone {

// sums[t, r, :] = those d[t, i, :] whose number ids[i] is r, added in the order of i, with the epilogue of a product
// behind them. Negative numbers count from the end; the caller has checked that all are in range.
// Items are (table, block of rows): a block lies in scratch until it is complete.
struct AddRowsPlan {
  GemmPlan product;  // n: columns
  DType d = DType::f32, ids = DType::i64;
  static constexpr auto fields() {
    return std::tuple(field("product", &AddRowsPlan::product), field("d", &AddRowsPlan::d),
                      field("ids", &AddRowsPlan::ids));
  }
  static const KernelDef& kernel();
};

struct AddRowsArgs {
  void *d = nullptr, *ids = nullptr;
  std::array<void*, 14> epilogue{};            // its operands, then results
  int64_t rows = 0, tables = 0, id_count = 0;  // rows of a table
  static constexpr auto places() {
    using A = AddRowsArgs;
    return std::tuple(&A::d, &A::ids, &A::epilogue, &A::rows, &A::tables, &A::id_count);
  }
};

Support lower_add_rows(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
