// Codes of a few bits as they are stored: one little-endian bit stream (formats/bits.h), a vector of codes at a time.
// `count` (an i64) is how many of the `lanes` codes exist; null: all. They start on a byte.
#pragma once

#include "device/llvm/emitter.h"

namespace hone {

// One code in each 32-bit lane, 0 in lanes that don't exist. Reads no byte behind the last code's.
llvm::Value* load_codes(Emitter& e, llvm::Value* pointer, int bits, llvm::Value* count = nullptr);

// Lanes that don't exist are 0 in `codes`; so are the unused bits of the last byte. Writes no byte behind it.
void store_codes(Emitter& e, llvm::Value* codes, llvm::Value* pointer, int bits, llvm::Value* count = nullptr);

}  // namespace hone
