// From sums in registers to results: the element program of a product, for what one thread holds of it.
#pragma once

#include "device/cuda/emitter.h"
#include "kernels/gemm/plan.h"

namespace hone {

// Of a kernel whose arguments are those of GemmPlan, or of another class that shares_epilogue(). Made where the block
// knows its batch, used anywhere that dominates.
class CudaEpilogue {
 public:
  // `count`: elements that a thread holds side by side in a row (2 of an mma), from columns that are multiples of it.
  // `result_offset`: elements before the batch; `batch`: its number. i64 both.
  CudaEpilogue(CudaEmitter& e, const GemmPlan& plan, const KernelFrame& frame, int count, llvm::Value* result_offset,
               llvm::Value* batch);

  // `sums`, a vector of `count` f32, or i32 where codes are multiplied, of `row` from `column` on (i64). Columns from n
  // on are not touched; the caller leaves out rows that are not there.
  void write(llvm::Value* row, llvm::Value* column, llvm::Value* sums);

 private:
  struct Placed {
    llvm::Value *base, *stride;  // of the batch; elements from row to row, null where rows have it in common
    DType dtype;
  };
  void write_with(CudaEmitter& e, llvm::Value* row, llvm::Value* column, llvm::Value* sums);
  llvm::Value* at(CudaEmitter& e, const Placed& placed, llvm::Value* row, llvm::Value* column);

  CudaEmitter& e_;
  const GemmPlan& plan_;
  const int count_;
  llvm::Value *n_, *first_row_;  // of all batches
  llvm::Value* aligned_;         // whether all rows allow accesses of `count` elements
  std::vector<Placed> operands_, results_;
};

}  // namespace hone
