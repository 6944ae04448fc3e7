#include "device/x86/amx/tile_file.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "device/x86/amx/tile_registers.h"

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
__attribute__((target("fma"))) void dot_bf16(int8_t c, int8_t a, int8_t b) {
  const int columns = file.row_bytes(c) / 4, depth = file.row_bytes(a) / 2;
  std::array<std::array<float, kRows>, 2 * kRows> y{};
  for (int k = 0; k < depth; ++k)
    for (int n = 0; n < columns; ++n)
      y[static_cast<size_t>(k)][static_cast<size_t>(n)] = widened(read<uint16_t>(file.at(b, k / 2), 2 * n + k % 2));
  for (int m = 0; m < file.rows(c); ++m) {
    std::array<std::array<float, kRows>, 2> sums{};  // of even k, of odd ones
    for (int k = 0; k < depth; ++k) {
      const float x = widened(read<uint16_t>(file.at(a, m), k));
      auto& of_half = sums[static_cast<size_t>(k % 2)];
      for (size_t n = 0; n < kRows; ++n)
        of_half[n] = flushed(__builtin_fmaf(x, y[static_cast<size_t>(k)][n], of_half[n]));
    }
    for (int n = 0; n < columns; ++n) {
      const auto i = static_cast<size_t>(n);
      const float sum = flushed(flushed(read<float>(file.at(c, m), n)) + flushed(sums[0][i] + sums[1][i]));
      std::memcpy(file.at(c, m) + 4 * n, &sum, 4);
    }
  }
}

// T: of A; four products to a word of C, modulo 2^32.
template <class T>
void dot_bytes(int8_t c, int8_t a, int8_t b) {
  const int columns = file.row_bytes(c) / 4, depth = file.row_bytes(a);
  for (int m = 0; m < file.rows(c); ++m)
    for (int n = 0; n < columns; ++n) {
      auto sum = read<uint32_t>(file.at(c, m), n);
      for (int k = 0; k < depth; ++k)
        sum += static_cast<uint32_t>(read<T>(file.at(a, m), k) * read<int8_t>(file.at(b, k / 4), 4 * n + k % 4));
      std::memcpy(file.at(c, m) + 4 * n, &sum, 4);
    }
}

template <class Function>
TileFunction named(std::string_view name, Function* function) {
  return {name, reinterpret_cast<void (*)()>(function)};
}

}  // namespace

std::span<const TileFunction> tile_functions() {
  static const std::array<TileFunction, 8> all{named(TileNames::kConfigure, configure),
                                               named(TileNames::kRelease, release),
                                               named(TileNames::kZero, zero),
                                               named(TileNames::kLoad, load),
                                               named(TileNames::kStore, store),
                                               named(TileNames::kDotBf16, dot_bf16),
                                               named(TileNames::kDotU8, dot_bytes<uint8_t>),
                                               named(TileNames::kDotI8, dot_bytes<int8_t>)};
  return all;
}

}  // namespace hone
