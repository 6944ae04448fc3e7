// Copies what a block multiplies in one step from global to shared memory: lines of 128 bytes (shape.h), one a row, or
// for pairs of an operand by columns one for each k and 64 rows. All threads take part.
#pragma once

#include "device/cuda/gemm/operand.h"

namespace hone {

class Staging {
 public:
  // Of `rows` rows, so many slabs of k a step: the lines of a slab lie from `offset` on in `slab_bytes`.
  struct Area {
    int rows, slabs;
    int64_t slab_bytes, offset;
  };
  // `pairs`: 64 k of bf16 in a slab, else 32 of f32, to which bf16 are widened.
  Staging(CudaEmitter& e, Operand& operand, bool pairs, Area area);

  // From `row` and `k` on, to the stage that begins `stage` bytes into shared memory; all i32.
  void fetch(llvm::Value* row, llvm::Value* k, llvm::Value* stage);

 private:
  struct Piece {
    llvm::Value *row, *k, *to;
  };
  Piece piece(llvm::Value* number, llvm::Value* row, llvm::Value* k, llvm::Value* stage);
  void copy_whole(const Piece& piece);
  void copy_elements(const Piece& piece);
  void copy_turned(llvm::Value* number, llvm::Value* row, llvm::Value* k, llvm::Value* stage);
  llvm::Value* element(llvm::Value* row, llvm::Value* k);  // as it lies; zero where there is none

  CudaEmitter& e_;
  Operand& operand_;
  const bool pairs_;
  const Area area_;
  const bool lines_of_k_;  // one for each k
};

}  // namespace hone
