// Stored codes of a packed weight to numbers, in registers.
#pragma once

#include "codegen/llvm/emit.h"
#include "codegen/weight_codec.h"
#include "expr/program.h"
#include "formats/format.h"

namespace hone {

class WeightDecoder {
 public:
  // `format` is what the codec was made from; its decode expression is emitted for wide codes.
  WeightDecoder(Emitter& e, const WeightCodec& codec, const Format& format);

  // Of one vector of 32-bit lanes of codes, in the order of k; both give what the format's decode rule gives without
  // scale.
  llvm::Value* pair(llvm::Value* codes, int j);   // k = 2j and 2j + 1 as bf16 pairs; only where codec.pairs
  llvm::Value* value(llvm::Value* codes, int i);  // k = i as f32
  // The scales of the columns of one vector as f32. 2^-127 is kept; the NaN code gives infinity, and prepack() makes
  // every code of such a group zero, so that products are NaN.
  llvm::Value* scales(llvm::Value* pointer);

 private:
  llvm::Value* word_pair(llvm::Value* codes, int j);
  llvm::Value* byte_pair(llvm::Value* codes, int half);
  llvm::Value* byte_half(llvm::Value* codes, int shift);
  llvm::Value* natural_value(llvm::Value* codes, int i);
  llvm::Value* minifloat(llvm::Value* top);

  Emitter& e_;
  const WeightCodec& codec_;
  Program decode_;               // wide codes
  std::vector<uint16_t> words_;  // bf16 of each stored code
};

}  // namespace hone
