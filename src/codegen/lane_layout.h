// Moves between rows of W and the 32-bit lanes of a weight panel (gemm_shape.h): the inner loops of prepack().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "codegen/weight_codec.h"

namespace hone {

constexpr int kMaxLanes = 16;
using LaneRows = std::array<const std::byte*, kMaxLanes>;  // one run of 32-bit lanes per column, on any byte

// out row r, lane c = lane r of column c, for r < count and c < lanes (a multiple of 4); rows of `out` are 16-byte
// aligned. With Order::interleaved each four columns come as their low halves, then their high ones.
void transpose_lanes(const LaneRows& columns, int lanes, int64_t count, WeightCodec::Order order, std::byte* out,
                     int64_t out_row_bytes);

// Consecutive codes of one lane, lowest bits first, to Order::halves: even ones in the low half, odd ones in the high
// half.
uint32_t split_halves(uint32_t codes, int bits);

}  // namespace hone
