// From a block's sums to results: the element program of a plan, four columns a thread. Sums come through shared
// memory, 16 rows of each warp at a time, so that a warp reads and writes whole lines of operands and results.
#pragma once

#include "device/cuda/gemm/product_loop.h"
#include "kernels/gemm/plan.h"

namespace hone {

// Where a block's part of a result is; row and column are i32, the others i64.
struct ResultPlace {
  llvm::Value *row, *column;
  llvm::Value *rows, *n;   // of the result
  llvm::Value* offset;     // elements before the matrix
  llvm::Value* batch_row;  // rows before it, of operands that have one element a row
};

class ResultStore {
 public:
  // `frame` has arguments of GemmPlan, or of a class that shares_epilogue().
  ResultStore(CudaEmitter& e, const GemmPlan& plan, const CudaGemmShape& shape, const KernelFrame& frame,
              const ResultPlace& place);
  void run(ProductLoop& loop, const Values& sums);

 private:
  void prepare_operands(const KernelFrame& frame);
  llvm::Value* sum_of(llvm::Value* row, llvm::Value* vector);
  void four(llvm::Value* sums, llvm::Value* row, llvm::Value* column);
  llvm::Value* load(DType dtype, llvm::Value* pointer, llvm::Value* aligned, llvm::Value* mask);
  void store(llvm::Value* value, DType dtype, llvm::Value* pointer, llvm::Value* aligned, llvm::Value* mask);
  llvm::Value* is_aligned(llvm::Value* pointer, llvm::Value* stride, DType dtype);

  CudaEmitter& e_;
  const GemmPlan& plan_;
  const CudaGemmShape& s_;
  const ResultPlace place_;
  struct Lying {
    llvm::Value* base;               // of the matrix
    llvm::Value* stride = nullptr;   // bytes
    llvm::Value* aligned = nullptr;  // i1: four elements at a multiple of four columns; null: never
  };
  std::vector<Lying> operands_, results_;
};

}  // namespace hone
