// Codes that one thread takes side by side, as words of the little-endian bit stream that they are stored in
// (formats/bits.h). As many as the emitter has lanes; they start and end on bytes.
#pragma once

#include "device/llvm/emitter.h"

namespace hone {

// What `bytes` from a multiple of `alignment` on may be accessed as at once: a power of two, at most 16.
int access_alignment(int64_t bytes, int64_t alignment);

// `bytes` (up to 16) as i32 words, the last filled up with zeros, from an address that is a multiple of `alignment`.
Values load_code_words(Emitter& e, llvm::Value* pointer, int bytes, int alignment);

// The codes of `bits` in such words, one in each 32-bit lane.
llvm::Value* codes_of_words(Emitter& e, const Values& words, int bits);

// The other way round. What lanes hold above their code is left out.
Values words_of_codes(Emitter& e, llvm::Value* codes, int bits);
void store_code_words(Emitter& e, const Values& words, llvm::Value* pointer, int bytes, int alignment);
// The bytes that hold the first `count` codes (an i64), one after the other.
void store_code_bytes(Emitter& e, const Values& words, llvm::Value* pointer, int bits, llvm::Value* count);

}  // namespace hone
