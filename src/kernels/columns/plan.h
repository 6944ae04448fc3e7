// Reductions of columns: over axes that have others behind them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/args.h"
#include "ir/graph.h"
#include "kernels/epilogue.h"
#include "kernels/kernel.h"

namespace hone {

// out[m, :] = program(reductions over the rows of matrix m), for matrices [rows, columns] one behind the other. What is
// reduced is computed from the operands, which lie along the matrices (Access: m counts the rows of all).
//   items     (matrix or part, block of columns); join: blocks of columns
//   elements  args: operands.  program  args: [0] rows (f32), [1+j] the value of reduction j
// A part is added up row by row and parts in their order, in one item as in several.
struct ColumnsPlan {
  enum class Task : uint8_t { whole, part, join } task = Task::whole;
  struct Step {
    int kind = 0;  // Reduction::Kind
    Program element;
    static constexpr auto fields() { return std::tuple(field("kind", &Step::kind), field("element", &Step::element)); }
  };
  std::vector<Epilogue::Operand> operands;
  std::vector<Step> reductions;
  Program program;
  std::vector<DType> results;
  static constexpr auto fields() {
    return std::tuple(field("task", &ColumnsPlan::task), field("operands", &ColumnsPlan::operands),
                      field("reductions", &ColumnsPlan::reductions), field("program", &ColumnsPlan::program),
                      field("results", &ColumnsPlan::results));
  }
  static const KernelDef& kernel();
};

struct ColumnsArgs {
  // Operands, then results. Where a matrix is reduced in parts [parts, reductions, columns] f32: `part` has them behind
  // the operands and `join` in front of the results.
  std::array<void*, 16> values{};
  int64_t rows = 0, columns = 0, matrices = 0;  // of a matrix; of them
  int64_t part_rows = 0, parts = 0;             // by launch()
  // The row stride of each operand in elements, then the period of each: operand row = row % period where it is > 0,
  // else row.
  std::array<int64_t, 43> operands{};
  static constexpr auto places() {
    using A = ColumnsArgs;
    return std::tuple(&A::values, &A::rows, &A::columns, &A::matrices, &A::part_rows, &A::parts, &A::operands);
  }
};

// The most parts that a matrix falls into.
int64_t most_parts(int64_t columns);
int64_t rows_of_part(int64_t rows, int64_t columns);
int64_t parts_bytes(int64_t columns, int64_t reductions);  // of the most parts

// Whether a node reduces axes that have others behind them.
bool reduces_columns(const Graph& graph, NodeId n);

// Such a node: arg 0 of `element` is the operand's; of `result` [0] rows, [1+j] the value of reduction j, which it is.
// None where results are not one for each column.
struct ColumnReduction {
  Reduction::Kind kind;
  Expr element, result;
};
std::optional<ColumnReduction> column_reduction(const Graph& graph, NodeId n, size_t j);

Support lower_columns(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
