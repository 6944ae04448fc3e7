// Stored codes of a packed weight to numbers, in registers: where they lie in a chunk, and the lookups of pairs and
// bytes. What codes in lanes mean is emitted by code_numbers.h.
#pragma once

#include "device/llvm/code_numbers.h"
#include "device/x86/emitter.h"
#include "device/x86/weight_codec.h"
#include "formats/format.h"

namespace hone {

// One vector of columns of a chunk of codes: its vectors of lanes, and the same from one byte on where a loop has
// loaded them so, to save shifts.
struct ChunkLanes {
  Values rows, upper;
};

class WeightDecoder {
 public:
  // `format` is what the codec was made from; its decode expression is emitted for wide codes.
  WeightDecoder(X86Emitter& e, const WeightCodec& codec, const Format& format);

  // Codes of a chunk in the order of k; both give what the format's decode rule gives without scale. `zero` is from
  // zero_points(), null where there are none.
  llvm::Value* pair(const ChunkLanes& chunk, int j,
                    llvm::Value* zero);  // k = 2j and 2j + 1 as bf16 pairs; only where codec.pairs
  llvm::Value* value(const ChunkLanes& chunk, int i, llvm::Value* zero);                // k = i as f32
  llvm::Value* value(const ChunkLanes& chunk, int i, const CodeNumbers::Group& group);  // k = i in its group
  // The scales of the columns of one vector as f32, `lanes` of them from `pointer` on. 2^-127 is kept; the NaN code of
  // E8M0 gives infinity, and prepack() makes every code of such a group zero, so that products are NaN. `global`: the
  // tensor's scale in every lane; null where it is multiplied later or there is none.
  llvm::Value* scales(llvm::Value* pointer, llvm::Value* global);
  llvm::Value* zero_points(llvm::Value* pointer);  // `lanes` of them; null when the codec has none

 private:
  llvm::Value* code(const ChunkLanes& chunk, int i);
  llvm::Value* word_pair(const ChunkLanes& chunk, int j, llvm::Value* zero);
  struct Index {  // in halves, with so many bits of something else below the code
    llvm::Value* value;
    int below;
  };
  llvm::Value* less_zero(const ChunkLanes& chunk, int j, llvm::Value* zero);
  Index plane_index(const ChunkLanes& chunk, int j);
  Index field_index(const ChunkLanes& chunk, int j);
  int index_bits() const;
  llvm::Value* halves(int x) const;
  llvm::Value* shifted(llvm::Value* v, int up);
  llvm::Value* byte_pair(llvm::Value* codes, int half);
  llvm::Value* byte_half(llvm::Value* codes, int shift);

  X86Emitter& e_;
  const WeightCodec& codec_;
  CodeNumbers numbers_;
  std::vector<uint16_t> words_;  // bf16 of each index that is looked up
};

}  // namespace hone
