// Reductions along rows and what is computed from them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device/args.h"
#include "kernels/kernel.h"

namespace hone {

// Reductions over rows of `length` elements, then results (OpDef::row; same argument positions in `element` programs
// and `program`).
// Items are rows. Rows of a result are of `length`, or of 1 where it is a scalar of each row, and lie one behind the
// other unless they lie apart.
// With `sums`, columns are reduced in the same pass: the last results of `program` are their elements, an item is a
// part of the rows, and what its rows give lies behind all results, [parts, sums, length] f32 (ColumnsPlan joins it).
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
  // Places in RowArgs::strides.
  size_t period_at(size_t operand) const { return operands.size() + operand; }
  size_t part_rows_at() const { return 2 * operands.size(); }
  size_t result_at(size_t result) const { return part_rows_at() + 1 + result; }
  static const KernelDef& kernel();
};

struct RowArgs {
  std::array<void*, 16> values{};  // operands, then results, then what sums give
  int64_t rows = 0, length = 0;
  // The row stride of each operand in elements (0: the same row for all), then the period of each: operand row = row %
  // period where it is > 0 (a [S,C] operand beside [B,S,C]), else row; then the rows of a part, by launch(); then,
  // where some result lies apart, the row stride of each.
  std::array<int64_t, 46> strides{};
  static constexpr auto places() {
    using A = RowArgs;
    return std::tuple(&A::values, &A::rows, &A::length, &A::strides);
  }
};

constexpr bool is_scalar(RowPlan::Lies lies) {
  return lies == RowPlan::Lies::scalars || lies == RowPlan::Lies::scalars_apart;
}
constexpr bool is_apart(RowPlan::Lies lies) {
  return lies == RowPlan::Lies::rows_apart || lies == RowPlan::Lies::scalars_apart;
}

int64_t kept_element_bytes(const RowPlan& plan, size_t reduction);  // of an element that a reduction keeps

Support lower_row(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
