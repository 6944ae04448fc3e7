// Rows added up at their numbers: gradients of embeddings.
#pragma once

#include <cstdint>

#include "kernels/gemm/plan.h"

namespace hone {

// sums[t, r, :] = those d[t, i, :] whose number ids[i] is r, added in the order of i, with the epilogue of a product
// behind them. Negative numbers count from the end; the caller has checked that all are in range.
//   pointers  [0] d, [1] ids, then epilogue operands, then results
//   dims      [0] rows of a table, [1] tables, [2] ids, [3] rows of an item, by launch(); from kGemmFullStrides on
//   zeros items     (table, block of rows): a block lies in scratch until it is complete
struct AddRowsPlan {
  GemmPlan product;  // n: columns
  DType d = DType::f32, ids = DType::i64;
  static constexpr auto fields() {
    return std::tuple(field("product", &AddRowsPlan::product), field("d", &AddRowsPlan::d),
                      field("ids", &AddRowsPlan::ids));
  }
  static const KernelDef& kernel();
};

Support lower_add_rows(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
