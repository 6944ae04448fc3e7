// The tile registers of AMX in generated code: instructions, or calls of their software twins (tile_file.h) for a
// target that emulates them. Eight tiles of up to 16 rows of 64 bytes; a tile of B holds four bytes of k for each of 16
// columns in a row, as panels of pairs do.
#pragma once

#include <array>
#include <cstdint>

#include "device/x86/emitter.h"

namespace hone {

// What the instruction that configures tiles reads.
struct alignas(64) TileConfig {
  static constexpr int kRows = 16, kRowBytes = 64;
  uint8_t palette = 0, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

struct TileNames {  // of the software
  static constexpr const char *kConfigure = "hone_tile_configure", *kRelease = "hone_tile_release",
                              *kZero = "hone_tile_zero", *kLoad = "hone_tile_load", *kStore = "hone_tile_store",
                              *kDotBf16 = "hone_tile_dot_bf16", *kDotU8 = "hone_tile_dot_u8",
                              *kDotI8 = "hone_tile_dot_i8";
};

class TileRegisters {
 public:
  explicit TileRegisters(X86Emitter& e) : e_(e) {}

  void configure(llvm::Value* config);  // clears all tiles; takes the time of ten products
  void release();                       // when no more tiles are used: threads that switch then save less
  void zero(int tile);
  // Rows `stride` bytes apart. `once`: what is not read again soon need not stay in the first-level cache.
  void load(int tile, llvm::Value* from, llvm::Value* stride, bool once = false);
  void store(int tile, llvm::Value* to, llvm::Value* stride);
  // C += A · B of three different tiles: bf16 by bf16 in f32, i8 or u8 by i8 in i32, which wraps.
  void dot(DType a_type, int c, int a, int b);

 private:
  void act(llvm::Intrinsic::ID instruction, const char* software, std::initializer_list<llvm::Value*> arguments);
  llvm::Value* number(int tile) { return e_.b.getInt8(static_cast<uint8_t>(tile)); }

  X86Emitter& e_;
};

}  // namespace hone
