// From sums to results: the element program of a gemm plan over one tile, with its operands and stores.
#pragma once

#include "device/llvm/emitter.h"
#include "kernels/gemm/plan.h"

namespace hone {

// The sums of a part of a result: rows of `vectors` vectors of the emitter's lanes, one behind the other.
struct SumTile {
  int vectors = 1;
  bool integers = false;  // i32; else f32
};

// Adds a local function
//   void(args, sums, row, column, rows, result_offset, batch)   pointers, then i64
// `sums` is such a tile; `row` and `column` are where it starts in the result of its batch, `result_offset` the
// elements before that batch. Columns from n on are not touched. `args` are those of GemmPlan, or of another class that
// shares_epilogue().
llvm::Function* emit_epilogue(Emitter& e, const std::string& symbol, const GemmPlan& plan, SumTile tile);

// Whether arguments have an `epilogue` where products have theirs, and the number of rows, `Rows`; strides are 0 there.
template <auto Rows, auto Epilogue>
constexpr bool shares_epilogue() {
  return place_of<Rows> == place_of<&GemmArgs::m> && place_of<Epilogue> == place_of<&GemmArgs::epilogue>;
}

}  // namespace hone
