// Moves between rows of W and the 32-bit lanes of a weight panel (device/x86/gemm/panel_layout.h): the inner loops of
// prepack().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hone {

constexpr int kMaxLanes = 16;
using LaneRows = std::array<const std::byte*, kMaxLanes>;  // one run of 32-bit lanes per column, on any byte

enum class LaneChange : uint8_t {
  none,
  interleave,     // each four columns come as their low halves, then their high ones
  split_nibbles,  // even codes of 4 bits to the low half, odd ones to the high half
};

// out row r, lane c = lane r of column c, for r < count and c < lanes (a multiple of 4); rows of `out` are 16-byte
// aligned.
void transpose_lanes(const LaneRows& columns, int lanes, int64_t count, LaneChange change, std::byte* out,
                     int64_t out_row_bytes);

// Lane c of `out` = 16 bits c of `low`, then those of `high`; all three on any byte.
void join_halves(const std::byte* low, const std::byte* high, int64_t count, std::byte* out);

// Eight codes of 4 bits, the first lowest: a lane that `split_nibbles` is still to change.
uint32_t joined_nibbles(const uint8_t* codes);

// The codes of one chunk (32 / the narrowest width of them) as lanes: for each width of `planes`, lowest bits first, so
// many bits of all codes, even codes in the low halves of the lanes and odd ones in the high halves. Returns what is
// behind the last lane.
uint32_t* split_planes(const uint8_t* codes, std::span<const int> planes, uint32_t* lanes);

// The same by Order::fields (weight_codec.h).
uint32_t* split_fields(const uint8_t* codes, int bits, int field_bits, uint32_t* lanes);

}  // namespace hone
