#include "codegen/llvm/tile_file.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "codegen/llvm/tile_registers.h"

namespace hone {
namespace {

constexpr int kTiles = 8, kRows = TileConfig::kRows, kRowBytes = TileConfig::kRowBytes;

struct TileFile {
  TileConfig config;
  alignas(64) std::array<std::array<std::array<std::byte, kRowBytes>, kRows>, kTiles> data;

  int rows(int tile) const { return config.rows[tile]; }
  int row_bytes(int tile) const { return config.row_bytes[tile]; }
  std::byte* at(int tile, int row) { return data[static_cast<size_t>(tile)][static_cast<size_t>(row)].data(); }
};
thread_local TileFile file;

void configure(const void* config) {
  std::memcpy(&file.config, config, sizeof file.config);
  std::memset(file.data.data(), 0, sizeof file.data);
}

void release() {
  file.config = {};
  std::memset(file.data.data(), 0, sizeof file.data);
}

void zero(int8_t tile) { std::memset(file.at(tile, 0), 0, sizeof file.data[0]); }

void load(int8_t tile, const std::byte* from, int64_t stride) {
  zero(tile);
  for (int r = 0; r < file.rows(tile); ++r)
    std::memcpy(file.at(tile, r), from + r * stride, static_cast<size_t>(file.row_bytes(tile)));
}

void store(int8_t tile, std::byte* to, int64_t stride) {
  for (int r = 0; r < file.rows(tile); ++r)
    std::memcpy(to + r * stride, file.at(tile, r), static_cast<size_t>(file.row_bytes(tile)));
}

template <class T>
T read(const std::byte* from, int index) {
  T value;
  std::memcpy(&value, from + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

// A subnormal number counts as 0 of its sign, on entry and on exit.
float flushed(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return (bits & 0x7f800000) == 0 ? std::bit_cast<float>(bits & 0x80000000) : x;
}
float widened(uint16_t bits) { return flushed(std::bit_cast<float>(uint32_t{bits} << 16)); }

// Sums of even and of odd k begin at 0 and grow by fused multiply-adds in the order of k; even + odd is added to C.
void dot_bf16(int8_t c, int8_t a, int8_t b) {
  for (int m = 0; m < file.rows(c); ++m)
    for (int n = 0; n < file.row_bytes(c) / 4; ++n) {
      float sums[2] = {0, 0};
      for (int pair = 0; pair < file.row_bytes(a) / 4; ++pair)
        for (int half = 0; half < 2; ++half) {
          const float x = widened(read<uint16_t>(file.at(a, m), 2 * pair + half)),
                      y = widened(read<uint16_t>(file.at(b, pair), 2 * n + half));
          sums[half] = flushed(std::fma(x, y, sums[half]));
        }
      const float sum = flushed(flushed(read<float>(file.at(c, m), n)) + flushed(sums[0] + sums[1]));
      std::memcpy(file.at(c, m) + 4 * n, &sum, 4);
    }
}

template <class Function>
TileFunction named(std::string_view name, Function* function) {
  return {name, reinterpret_cast<void (*)()>(function)};
}

}  // namespace

std::span<const TileFunction> tile_functions() {
  static const std::array<TileFunction, 6> all{named(TileNames::kConfigure, configure), named(TileNames::kRelease, release),
                                               named(TileNames::kZero, zero),           named(TileNames::kLoad, load),
                                               named(TileNames::kStore, store),         named(TileNames::kDotBf16, dot_bf16)};
  return all;
}

}  // namespace hone
