// Reductions along rows and what is computed from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace hone {

// Reductions over rows of `length` elements, then results (OpDef::row; same argument positions in `element` programs
// and `program`).
//   pointers  operands, then results
//   dims      [0] rows, [1] length, then the row stride of each operand in elements (0: the same row for all),
//             then the period of each: operand row = row % period where it is > 0 (a [S,C] operand beside [B,S,C]),
//             else row
//   items     rows. Rows of a result are of `length`, or of 1 where it is a scalar of each row, and lie one behind the
//             other unless they lie apart.
// With `sums`, columns are reduced in the same pass: the last results of `program` are their elements, an item is a
// part of the rows, and what its rows give lies behind all results, [parts, sums, length] f32 (ColumnsPlan joins it).
// Then dims has, behind the periods, the rows of a part, by launch(); and behind that, where some result lies apart,
// the row stride of each.
struct RowPlan {
  struct Operand {
    DType dtype;
    bool row_scalar = false;  // one element per row instead of a vector
    static constexpr auto fields() {
      return std::tuple(field("dtype", &Operand::dtype), field("row_scalar", &Operand::row_scalar));
    }
  };
  struct Step {
    int kind = 0;  // Reduction::Kind
    Program element;
    bool keep = false;
    static constexpr auto fields() {
      return std::tuple(field("kind", &Step::kind), field("element", &Step::element), field("keep", &Step::keep));
    }
  };
  std::vector<Operand> operands;
  std::vector<Step> reductions;
  Program program;
  std::vector<DType> results;
  enum class Lies : uint8_t { rows, scalars, rows_apart, scalars_apart };
  std::vector<Lies> lies;  // each result
  std::vector<int> sums;   // Reduction::Kind
  static constexpr auto fields() {
    return std::tuple(field("operands", &RowPlan::operands), field("reductions", &RowPlan::reductions),
                      field("program", &RowPlan::program), field("results", &RowPlan::results),
                      field("lies", &RowPlan::lies), field("sums", &RowPlan::sums));
  }
  static const KernelDef& kernel();
};

constexpr bool is_scalar(RowPlan::Lies lies) {
  return lies == RowPlan::Lies::scalars || lies == RowPlan::Lies::scalars_apart;
}
constexpr bool is_apart(RowPlan::Lies lies) {
  return lies == RowPlan::Lies::rows_apart || lies == RowPlan::Lies::scalars_apart;
}
inline int row_results_dim(const RowPlan& plan) { return static_cast<int>(3 + 2 * plan.operands.size()); }

int64_t kept_element_bytes(const RowPlan& plan, size_t reduction);  // of an element that a reduction keeps

Support lower_row(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
