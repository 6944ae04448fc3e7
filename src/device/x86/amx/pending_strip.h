// The strip that tile registers multiplied last. Its sums stay in them until the next strip begins, which stores each
// tile just before its own first product there, and its epilogue runs in the next strip's walk over K, some rows a
// step: vectors work beside the tiles. It is flushed before tiles are configured anew, before what it needs is
// overwritten, and when the kernel ends.
#pragma once

#include <cstddef>

#include "device/x86/emitter.h"

namespace hone {

inline constexpr int kSumTiles[2][2] = {{0, 1}, {2, 3}};  // of C: both halves of the rows, both of the columns

// What tile registers hold, in memory of a kernel.
struct TileState {
  int64_t half_rows = 0;                          // that they are configured for; 0: they are not
  std::byte *first = nullptr, *second = nullptr;  // where sums go that are in tiles, of both halves; null: none are
  int64_t rows = 0;                               // whose epilogue has not run; what follows is of the first of them
  const void* args = nullptr;
  const std::byte* sums = nullptr;
  int64_t row = 0, column = 0, result_offset = 0, batch = 0;
};

llvm::Value* tile_state(X86Emitter& e);  // of a kernel, which releases its tiles when it ends
llvm::Value* state_field(X86Emitter& e, llvm::Value* state, size_t offset);

// Two local functions
//   void next_rows(state, most)   runs the epilogue on up to `most` of the rows that are left, of which there are some
//   void flush(state)             stores sums that are in tiles, and runs the epilogue on all rows that are left
struct PendingStrip {
  llvm::Function *next_rows = nullptr, *flush = nullptr;
};
// `epilogue`: of emit_epilogue(). row_bytes: of sums.
llvm::Function* emit_next_rows(X86Emitter& e, const std::string& symbol, llvm::Function* epilogue, int64_t row_bytes);
llvm::Function* emit_flush(X86Emitter& e, const std::string& symbol, llvm::Function* next_rows, int64_t row_bytes);

// Of the tiles of one half and its columns `c`, to `place` where that is not null.
void store_pending(X86Emitter& e, llvm::Value* place, int half, int c, int64_t row_bytes);

// What the epilogue is told of a strip beside its sums.
struct StripResult {
  llvm::Value *args, *row, *column, *rows, *result_offset, *batch;
};
// The strip that has just been multiplied is to have its epilogue.
void finish_later(X86Emitter& e, llvm::Value* state, const StripResult& strip);

}  // namespace hone
