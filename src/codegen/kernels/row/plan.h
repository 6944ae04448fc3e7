// Reductions along rows and what is computed from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/kernel.h"

namespace hone {

// Reductions over rows of `length` elements, then results (OpDef::row; same argument positions in `element` programs
// and `program`).
//   pointers  operands, then results
//   dims      [0] rows, [1] length, then the row stride of each operand in elements (0: the same row for all),
//             then the period of each: operand row = row % period where it is > 0 (a [S,C] operand beside [B,S,C]),
//             else row
//   items     rows. Result rows are dense: of `length`, or of 1 where `scalar_results[j]`.
// With `sums`, columns are reduced in the same pass: the last results of `program` are their elements, an item is a
// part of the rows, and what its rows give lies behind all results, [parts, sums, length] f32 (ColumnsPlan joins it).
// Then dims has, behind the periods, the rows of a part, by launch().
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
  std::vector<bool> scalar_results;
  std::vector<int> sums;  // Reduction::Kind
  static constexpr auto fields() {
    return std::tuple(field("operands", &RowPlan::operands), field("reductions", &RowPlan::reductions),
                      field("program", &RowPlan::program), field("results", &RowPlan::results),
                      field("scalar_results", &RowPlan::scalar_results), field("sums", &RowPlan::sums));
  }
  static const KernelDef& kernel();
};

// The elements that reductions keep lie in scratch, one reduction's behind the other's, each with room for a multiple
// of 64.
int64_t kept_element_bytes(const RowPlan& plan, size_t reduction);

Support lower_row(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
