// Rows of packed tables on CUDA, a few codes a thread.
#pragma once

#include <optional>

#include "device/cuda/emitter.h"
#include "device/llvm/packed_table.h"

namespace hone {

Support packed_rows_support(const Format& format);  // of tables in this format

// How many codes side by side a thread decodes: they share a group, start and end on bytes, and make up to 16 bytes of
// the result. 1 where codes of a row do not lie together, and each is fetched by itself.
int packed_row_lanes(const GatherPlan& plan);

// Chunks of `e.lanes` columns of a row, which lie in a run of bytes but where there is one lane.
class PackedChunks {
 public:
  PackedChunks(CudaEmitter& e, const GatherPlan& plan);
  void bind(const KernelFrame& frame) { table_.bind(frame); }
  // Whether planes lie such that chunks are read at once; i1.
  llvm::Value* aligned();

  // What was read of a chunk, not yet looked at.
  struct Raw {
    Values words;   // of codes
    Values scales;  // codes, i32, of each level
    Values outers;  // those of their super-blocks, where scales have two levels
    llvm::Value* zero = nullptr;
  };
  Raw load(llvm::Value* row, llvm::Value* column, bool aligned);
  // Chunk `number` of all, where rows lie one behind the other without a gap.
  Raw load_in_line(llvm::Value* number, bool aligned);
  bool is_in_line() const;

  // The result's elements, `e.lanes` of them, as they are stored: words of 16-byte pieces for bf16 pairs, else a
  // vector.
  void store(const Raw& raw, llvm::Value* to, bool aligned);

 private:
  Raw load_at(llvm::Value* byte, llvm::Value* scale_bit, llvm::Value* group, bool aligned);
  llvm::Value* whole_word(llvm::Value* code);
  bool decodes_pairs() const;
  Values pairs(const Raw& raw);
  llvm::Value* scale(llvm::Value* code);
  llvm::Value* scale_code(llvm::Value* bit, bool aligned);
  int code_bytes() const { return e_.lanes * meaning_.bits / 8; }
  int64_t group_scale_bits() const { return int64_t{meaning_.levels} * meaning_.scale.bits; }

  CudaEmitter& e_;
  const GatherPlan& plan_;
  PackedTable table_;
  const RowLayout& layout_;
  const CodeMeaning& meaning_;
};

}  // namespace hone
