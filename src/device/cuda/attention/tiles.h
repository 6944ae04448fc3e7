// Queries, keys and values of a block, brought to shared memory as they are multiplied: pieces of 16 bytes, a thread
// every threads-th, with zeros where rows or columns do not exist.
#pragma once

#include "device/cuda/attention/block.h"

namespace hone {

class AttentionTiles {
 public:
  explicit AttentionTiles(const AttentionBlock& block);

  void fetch_queries();
  // Keys [t, t + tile_keys), of which those below `end` exist, and their values, into a stage (i64).
  void fetch(llvm::Value* t, llvm::Value* end, llvm::Value* stage);
  llvm::Value* keys(llvm::Value* stage) const;  // where they are
  llvm::Value* values(llvm::Value* stage) const;

 private:
  // One of the two operands.
  struct Operand {
    bool of_values;
    int64_t columns, filled, stride;  // of a head; with zeros; bytes of a row in shared memory
  };
  // piece(row, column, pointer) of `rows` rows.
  template <class Piece>
  void pieces(int64_t rows, int64_t columns, int64_t stride, llvm::Value* to, int width, Piece piece);
  void fetch_operand(const Operand& operand, llvm::Value* t, llvm::Value* end, llvm::Value* to);
  void copy_piece(llvm::Value* from, llvm::Value* column, int64_t columns, llvm::Value* exists, llvm::Value* to,
                  bool at_once);
  void decode_piece(const Operand& operand, llvm::Value* key, llvm::Value* column, llvm::Value* exists,
                    llvm::Value* to);
  bool may_copy(int64_t columns) const;
  llvm::Value* lies_aligned(llvm::Value* pointer, llvm::Value* stride, int64_t columns) const;
  int width() const { return static_cast<int>(16 / block_.shape.element()); }  // of a piece, in elements

  const AttentionBlock& block_;
  CudaEmitter& e_;
  const CudaAttentionShape& s_;
};

}  // namespace hone
