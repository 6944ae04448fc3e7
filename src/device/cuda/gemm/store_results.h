// From a block's sums to results: the element program of a plan, four columns a thread. Sums come through shared
// memory, 16 rows of each warp at a time, so that a warp reads and writes whole lines of operands and results.
#pragma once

#include "device/cuda/epilogue.h"
#include "device/cuda/gemm/product_loop.h"

namespace hone {

// Where a block's part of a result is; row and column are i32, the others i64.
struct ResultPlace {
  llvm::Value *row, *column;
  llvm::Value *rows, *n;  // of the result
  // The epilogue's number of the first column, and how many it takes at a time: 4 or 1. Null: 0.
  llvm::Value* first_column = nullptr;
  int side = 4;
};

void store_results(CudaEmitter& e, const CudaGemmShape& shape, ProductLoop& loop, const Values& sums,
                   const ResultPlace& place, CudaEpilogue& epilogue);

}  // namespace hone
