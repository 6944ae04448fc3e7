// From sums to results: the element program of a gemm plan over one tile, with its operands and stores.
#pragma once

#include "device/x86/emit.h"
#include "device/x86/gemm/shape.h"

namespace hone {

// Adds a local function
//   void(args, sums, row, column, rows, result_offset, batch)   pointers, then i64
// `sums` is a tile as emit_tile stores it, [rows, vectors * lanes]; `row` and `column` are where it starts in the
// result of its batch, `result_offset` the elements before that batch. Columns from n on are not touched.
// `args` are those of GemmPlan, or of another class that shares_epilogue().
llvm::Function* emit_epilogue(Emitter& e, const std::string& symbol, const GemmPlan& plan, const GemmShape& shape);

// Whether arguments have an `epilogue` where products have theirs, and the number of rows, `Rows`; strides are 0 there.
template <auto Rows, auto Epilogue>
constexpr bool shares_epilogue() {
  return place_of<Rows> == place_of<&GemmArgs::m> && place_of<Epilogue> == place_of<&GemmArgs::epilogue>;
}

}  // namespace hone
