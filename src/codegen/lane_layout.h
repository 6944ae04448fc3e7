// Moves between rows of W and the 32-bit lanes of a weight panel (gemm_shape.h): the inner loops of prepack().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hone {

constexpr int kMaxLanes = 16;
using LaneRows = std::array<const std::byte*, kMaxLanes>;  // one run of 32-bit lanes per column, on any byte

enum class LaneChange : uint8_t {
  none,
  interleave,     // each four columns come as their low halves, then their high ones
  split_nibbles,  // split_halves(lane, 4)
};

// out row r, lane c = lane r of column c, for r < count and c < lanes (a multiple of 4); rows of `out` are 16-byte
// aligned.
void transpose_lanes(const LaneRows& columns, int lanes, int64_t count, LaneChange change, std::byte* out,
                     int64_t out_row_bytes);

// Consecutive codes of one lane, lowest bits first, to Order::halves: even ones in the low half, odd ones in the high
// half.
uint32_t split_halves(uint32_t codes, int bits);

}  // namespace hone
