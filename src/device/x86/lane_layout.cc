#include "device/x86/lane_layout.h"

#include <emmintrin.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "device/x86/weight_codec.h"

namespace hone {
namespace {

__m128i interleaved(__m128i x) {  // halves l0 h0 l1 h1 l2 h2 l3 h3 -> l0 l1 l2 l3 h0 h1 h2 h3
  x = _mm_shufflehi_epi16(_mm_shufflelo_epi16(x, 0xd8), 0xd8);
  return _mm_shuffle_epi32(x, 0xd8);
}

__m128i split_nibbles(__m128i x) {
  const auto close = [](__m128i v) {  // nibbles in the low halves of bytes -> 16 bits
    v = _mm_and_si128(_mm_or_si128(v, _mm_srli_epi32(v, 4)), _mm_set1_epi32(0x00ff00ff));
    return _mm_and_si128(_mm_or_si128(v, _mm_srli_epi32(v, 8)), _mm_set1_epi32(0xffff));
  };
  const __m128i low = _mm_set1_epi32(0x0f0f0f0f);
  return _mm_or_si128(close(_mm_and_si128(x, low)),
                      _mm_slli_epi32(close(_mm_and_si128(_mm_srli_epi32(x, 4), low)), 16));
}

template <LaneChange kChange>
void store(std::byte* out, __m128i x) {
  if constexpr (kChange == LaneChange::interleave) x = interleaved(x);
  if constexpr (kChange == LaneChange::split_nibbles) x = split_nibbles(x);
  _mm_store_si128(reinterpret_cast<__m128i*>(out), x);
}

// Four lanes of four columns; 16 bytes per row of `out`.
template <LaneChange kChange>
void transpose_square(const std::byte* const* columns, int64_t r, std::byte* out, int64_t out_row_bytes) {
  const auto load = [&](int c) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(columns[c] + r * 4)); };
  const __m128i a = load(0), b = load(1), c = load(2), d = load(3);
  const __m128i ab_low = _mm_unpacklo_epi32(a, b), ab_high = _mm_unpackhi_epi32(a, b);
  const __m128i cd_low = _mm_unpacklo_epi32(c, d), cd_high = _mm_unpackhi_epi32(c, d);
  store<kChange>(out, _mm_unpacklo_epi64(ab_low, cd_low));
  store<kChange>(out + out_row_bytes, _mm_unpackhi_epi64(ab_low, cd_low));
  store<kChange>(out + 2 * out_row_bytes, _mm_unpacklo_epi64(ab_high, cd_high));
  store<kChange>(out + 3 * out_row_bytes, _mm_unpackhi_epi64(ab_high, cd_high));
}

template <LaneChange kChange>
void transpose(const LaneRows& columns, int lanes, int64_t count, std::byte* out, int64_t out_row_bytes) {
  int64_t r = 0;
  for (; r + 4 <= count; r += 4)
    for (int c = 0; c < lanes; c += 4)
      transpose_square<kChange>(columns.data() + c, r, out + r * out_row_bytes + c * 4, out_row_bytes);
  for (; r < count; ++r)
    for (int c = 0; c < lanes; c += 4) {
      uint32_t lane[4];
      for (int i = 0; i < 4; ++i) std::memcpy(&lane[i], columns[static_cast<size_t>(c + i)] + r * 4, 4);
      store<kChange>(out + r * out_row_bytes + c * 4, _mm_loadu_si128(reinterpret_cast<const __m128i*>(lane)));
    }
}

}  // namespace

void transpose_lanes(const LaneRows& columns, int lanes, int64_t count, LaneChange change, std::byte* out,
                     int64_t out_row_bytes) {
  switch (change) {
    case LaneChange::none:
      return transpose<LaneChange::none>(columns, lanes, count, out, out_row_bytes);
    case LaneChange::interleave:
      return transpose<LaneChange::interleave>(columns, lanes, count, out, out_row_bytes);
    case LaneChange::split_nibbles:
      return transpose<LaneChange::split_nibbles>(columns, lanes, count, out, out_row_bytes);
  }
}

void join_halves(const std::byte* low, const std::byte* high, int64_t count, std::byte* out) {
  const auto load = [](const std::byte* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
  const auto store = [](std::byte* to, __m128i x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), x); };
  int64_t c = 0;
  for (; c + 8 <= count; c += 8) {
    const __m128i a = load(low + c * 2), b = load(high + c * 2);
    store(out + c * 4, _mm_unpacklo_epi16(a, b));
    store(out + c * 4 + 16, _mm_unpackhi_epi16(a, b));
  }
  for (; c < count; ++c) {
    std::memcpy(out + c * 4, low + c * 2, 2);
    std::memcpy(out + c * 4 + 2, high + c * 2, 2);
  }
}

uint32_t joined_nibbles(const uint8_t* codes) {
  uint32_t lane = 0;
  for (int i = 0; i < 8; ++i) lane |= static_cast<uint32_t>(codes[i]) << (4 * i);
  return lane;
}

uint32_t* split_planes(const uint8_t* codes, std::span<const int> planes, uint32_t* lanes) {
  const int chunk = 32 / planes.back();
  int first_bit = 0;
  for (const int width : planes) {
    const uint64_t each = 0x0001000100010001 * ((uint64_t{1} << width) - 1);
    const auto closed = [&](uint64_t four) {  // codes 16 bits apart, moved together
      four |= four >> (16 - width);
      four &= 0x0000000100000001 * ((uint64_t{1} << (2 * width)) - 1);
      return static_cast<uint32_t>(four | four >> (32 - 2 * width)) & ((1u << (4 * width)) - 1);
    };
    const int in_lane = 32 / width;
    for (int k = 0; k < chunk; k += in_lane) {
      uint32_t low = 0, high = 0;
      for (int i = 0; i < in_lane; i += 8) {
        uint64_t eight;
        std::memcpy(&eight, codes + k + i, 8);
        eight >>= first_bit;
        low |= closed(eight & each) << (i / 2 * width);
        high |= closed(eight >> 8 & each) << (i / 2 * width);
      }
      *lanes++ = low | high << 16;
    }
    first_bit += width;
  }
  return lanes;
}

uint32_t* split_fields(const uint8_t* codes, int bits, int field_bits, uint32_t* lanes) {
  const int in_word = 16 / 8 * 2 * (field_bits / bits);  // codes: two fields in each half
  const int rows = field_bits / std::gcd(field_bits, 8), words = 8 / std::gcd(field_bits, 8);
  std::array<uint32_t, 8> word{};
  for (int w = 0; w < words; ++w)
    for (int i = 0; i < in_word; ++i) {
      const int pair = i / 2, per_field = field_bits / bits;
      const int at = i % 2 * 16 + pair / per_field * 8 + pair % per_field * bits;
      word[static_cast<size_t>(w)] |= static_cast<uint32_t>(codes[w * in_word + i]) << at;
    }
  for (const FieldPiece& piece : field_pieces(field_bits)) {
    const uint32_t both = 0x01010101 * (((1u << piece.bits) - 1) << piece.to);
    word[static_cast<size_t>(piece.row)] |= (word[static_cast<size_t>(piece.word)] & both) << (piece.from - piece.to);
  }
  return std::copy_n(word.begin(), rows, lanes);
}

}  // namespace hone
