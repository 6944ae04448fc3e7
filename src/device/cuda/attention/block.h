// What a block of an attention kernel works on: which batch, heads, rows and keys, and where they lie.
#pragma once

#include "device/cuda/attention/shape.h"
#include "device/cuda/emitter.h"
#include "device/llvm/head_reader.h"

namespace hone {

class AttentionBlock {
  using A = CudaAttentionArgs;

 public:
  // Begins the kernel. A joining one has no ranges.
  AttentionBlock(CudaEmitter& e, const CudaAttentionPlan& plan, const std::string& symbol);

  CudaEmitter& e;
  const CudaAttentionPlan& plan;
  const CudaAttentionShape shape;
  const KernelFrame frame;

  template <auto Member>
  llvm::Value* size(int i = 0) const {
    return e.size<Member>(frame, i);
  }
  template <auto Member>
  llvm::Value* pointer() const {
    return e.pointer<Member>(frame);
  }

  // A row of the block (i64): its head, of those that share keys, and its query. Rows that do not exist have the last
  // ones' places.
  struct Row {
    llvm::Value *exists, *head, *query;
  };
  Row row(llvm::Value* number) const;
  llvm::Value* row_elements(llvm::Value* row, llvm::Value* stride, llvm::Value* head, int64_t columns) const;
  llvm::Value* query(const Row& row) const;  // where its first column is
  llvm::Value* result(const Row& row) const;
  llvm::Value* mask(const Row& row) const;  // of key 0
  llvm::Value* head(const Row& row) const;  // of all

  // Keys [from, to) that a row sees, of the block's, as i32.
  struct Keys {
    llvm::Value *from, *to;
  };
  Keys keys_of(const Row& row) const;
  // Of all rows together, from the start of a tile; i64. every_row: those that each sees.
  Keys keys() const { return {from_, to_}; }
  Keys seen_by_all() const { return {all_from_, all_to_}; }

  // Rows of keys or of values of the block's head, from the first of its batch on.
  HeadReader::Rows rows_of(const HeadReader& reader, bool of_values) const;
  HeadReader reader(Emitter& emitter, bool of_values) const;

  llvm::Value* is_split() const { return split_; }  // i1
  llvm::Value* state(llvm::Value* range) const;     // of a range of this block
  llvm::Value* range() const { return range_; }

 private:
  void find_keys();
  llvm::Value* within_keys(llvm::Value* x) const;

  llvm::Value *batch_, *group_, *first_row_, *block_, *range_, *split_;
  llvm::Value *first_key_, *last_key_;  // of its range
  llvm::Value *from_ = nullptr, *to_ = nullptr, *all_from_ = nullptr, *all_to_ = nullptr;
};

}  // namespace hone
