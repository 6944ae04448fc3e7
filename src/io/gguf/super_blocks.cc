// Blocks of 256 elements, most of them with scales of two levels (docs/gguf.md has the layouts in words).
#include <algorithm>

#include "io/gguf/block_layout.h"

namespace hone {
namespace {

// 256 codes of two bits: pair i of 32 bytes holds 32 elements, in two halves of 128.
template <class F>
void for_each_pair(F&& fn) {  // fn(element, byte, shift)
  for (int half = 0; half < 2; ++half)
    for (int i = 0; i < 4; ++i)
      for (int l = 0; l < 32; ++l) fn(static_cast<size_t>(128 * half + 32 * i + l), 32 * half + l, 2 * i);
}

void split_pairs(const uint8_t* bytes, BlockParts& p) {
  for_each_pair([&](size_t at, int byte, int shift) { p.codes[at] = bytes[byte] >> shift & 3u; });
}

void join_pairs(const BlockParts& p, uint8_t* bytes) {
  std::fill_n(bytes, 64, uint8_t{0});
  for_each_pair([&](size_t at, int byte, int shift) {
    bytes[byte] = static_cast<uint8_t>(bytes[byte] | (p.codes[at] & 3) << shift);
  });
}

// 256 codes of four bits: the low halves of 32 bytes hold 32 elements, their high halves the next 32.
void split_nibbles(const uint8_t* bytes, BlockParts& p) {
  for (size_t i = 0; i < 128; ++i) {
    const size_t at = i / 32 * 64 + i % 32;
    p.codes[at] = bytes[i] & 15u, p.codes[at + 32] = bytes[i] >> 4;
  }
}

void join_nibbles(const BlockParts& p, uint8_t* bytes) {
  for (size_t i = 0; i < 128; ++i) {
    const size_t at = i / 32 * 64 + i % 32;
    bytes[i] = static_cast<uint8_t>((p.codes[at] & 15) | (p.codes[at + 32] & 15) << 4);
  }
}

// Eight scales and minimums of six bits in 12 bytes: the first four of both lie in bytes of their own, whose two top
// bits are those of the last four.
void split_sixes(const uint8_t* b, BlockParts& p) {
  for (size_t i = 0; i < 4; ++i) {
    p.scales[2 * i] = b[i] & 63u, p.scales[2 * i + 1] = b[i + 4] & 63u;
    p.scales[2 * i + 8] = (b[i + 8] & 15u) | (b[i] >> 6) << 4;
    p.scales[2 * i + 9] = static_cast<uint32_t>(b[i + 8] >> 4 | (b[i + 4] >> 6) << 4);
  }
}

void join_sixes(const BlockParts& p, uint8_t* b) {
  for (size_t i = 0; i < 4; ++i) {
    const uint32_t s = p.scales[2 * i + 8], t = p.scales[2 * i + 9];
    b[i] = static_cast<uint8_t>(p.scales[2 * i] | (s >> 4) << 6);
    b[i + 4] = static_cast<uint8_t>(p.scales[2 * i + 1] | (t >> 4) << 6);
    b[i + 8] = static_cast<uint8_t>((s & 15) | (t & 15) << 4);
  }
}

void split_outer(const uint8_t* bytes, size_t count, BlockParts& p) {
  for (size_t i = 0; i < count; ++i) p.outer[i] = load_u16(bytes + 2 * i);
}

void join_outer(const BlockParts& p, size_t count, uint8_t* bytes) {
  for (size_t i = 0; i < count; ++i) store_u16(bytes + 2 * i, p.outer[i]);
}

void split_q2_k(const uint8_t* b, BlockParts& p) {
  for (size_t g = 0; g < 16; ++g) p.scales[2 * g] = b[g] & 15u, p.scales[2 * g + 1] = b[g] >> 4;
  split_pairs(b + 16, p), split_outer(b + 80, 2, p);
}

void join_q2_k(const BlockParts& p, uint8_t* b) {
  for (size_t g = 0; g < 16; ++g) b[g] = static_cast<uint8_t>(p.scales[2 * g] | p.scales[2 * g + 1] << 4);
  join_pairs(p, b + 16), join_outer(p, 2, b + 80);
}

// The third bit of a code lies in 32 bytes, inverted: what it says is that 4 is not subtracted. Of 16 scales of six
// bits the low four are nibbles of eight bytes, the others pairs of four.
void split_q3_k(const uint8_t* b, BlockParts& p) {
  split_pairs(b + 32, p);
  for_each_pair([&](size_t at, int, int) { p.codes[at] |= (~b[at % 32] >> (at / 32) & 1u) << 2; });
  const uint8_t* s = b + 96;
  for (size_t g = 0; g < 16; ++g) {
    const uint32_t low = g < 8 ? s[g] & 15u : s[g - 8] >> 4u;
    p.scales[g] = low | (s[8 + g % 4] >> (g / 4 * 2) & 3u) << 4;
  }
  split_outer(b + 108, 1, p);
}

void join_q3_k(const BlockParts& p, uint8_t* b) {
  join_pairs(p, b + 32);
  std::fill_n(b, 32, uint8_t{0});
  for (size_t at = 0; at < 256; ++at)
    b[at % 32] = static_cast<uint8_t>(b[at % 32] | (~p.codes[at] >> 2 & 1) << (at / 32));
  uint8_t* s = b + 96;
  std::fill_n(s, 12, uint8_t{0});
  for (size_t g = 0; g < 16; ++g) {
    s[g % 8] = static_cast<uint8_t>(s[g % 8] | (p.scales[g] & 15) << (g / 8 * 4));
    s[8 + g % 4] = static_cast<uint8_t>(s[8 + g % 4] | (p.scales[g] >> 4 & 3) << (g / 4 * 2));
  }
  join_outer(p, 1, b + 108);
}

void split_q4_k(const uint8_t* b, BlockParts& p) {
  split_outer(b, 2, p), split_sixes(b + 4, p), split_nibbles(b + 16, p);
}
void join_q4_k(const BlockParts& p, uint8_t* b) { join_outer(p, 2, b), join_sixes(p, b + 4), join_nibbles(p, b + 16); }

void split_q5_k(const uint8_t* b, BlockParts& p) {
  split_outer(b, 2, p), split_sixes(b + 4, p), split_nibbles(b + 48, p);
  for (size_t at = 0; at < 256; ++at) p.codes[at] |= (b[16 + at % 32] >> (at / 32) & 1u) << 4;
}

void join_q5_k(const BlockParts& p, uint8_t* b) {
  join_outer(p, 2, b), join_sixes(p, b + 4), join_nibbles(p, b + 48);
  std::fill_n(b + 16, 32, uint8_t{0});
  for (size_t at = 0; at < 256; ++at)
    b[16 + at % 32] = static_cast<uint8_t>(b[16 + at % 32] | (p.codes[at] >> 4 & 1) << (at / 32));
}

// Low nibbles of 128 elements lie in 64 bytes, the first 64 in their low halves; two more bits as pairs do.
template <class F>
void for_each_nibble_of_six(F&& fn) {  // fn(element, byte, shift)
  for (int at = 0; at < 256; ++at) fn(static_cast<size_t>(at), at / 128 * 64 + at % 64, at % 128 / 64 * 4);
}

void split_q6_k(const uint8_t* b, BlockParts& p) {
  for_each_nibble_of_six([&](size_t at, int byte, int shift) { p.codes[at] = b[byte] >> shift & 15u; });
  for_each_pair([&](size_t at, int byte, int shift) { p.codes[at] |= (b[128 + byte] >> shift & 3u) << 4; });
  for (uint32_t& code : p.codes) code ^= 32;
  for (size_t g = 0; g < 16; ++g) p.scales[g] = b[192 + g];
  split_outer(b + 208, 1, p);
}

void join_q6_k(const BlockParts& p, uint8_t* b) {
  std::fill_n(b, 192, uint8_t{0});
  for_each_nibble_of_six(
      [&](size_t at, int byte, int shift) { b[byte] = static_cast<uint8_t>(b[byte] | (p.codes[at] & 15) << shift); });
  for_each_pair([&](size_t at, int byte, int shift) {
    b[128 + byte] = static_cast<uint8_t>(b[128 + byte] | ((p.codes[at] ^ 32) >> 4 & 3) << shift);
  });
  for (size_t g = 0; g < 16; ++g) b[192 + g] = static_cast<uint8_t>(p.scales[g]);
  join_outer(p, 1, b + 208);
}

// Groups of 32 as those of IQ4_NL; scales of six bits in pairs of two bytes and nibbles of four.
void split_iq4_xs(const uint8_t* b, BlockParts& p) {
  split_outer(b, 1, p);
  const uint32_t high = load_u16(b + 2);
  for (size_t g = 0; g < 8; ++g) p.scales[g] = (b[4 + g / 2] >> (g % 2 * 4) & 15u) | (high >> (2 * g) & 3u) << 4;
  for (size_t i = 0; i < 128; ++i) {
    const size_t at = i / 16 * 32 + i % 16;
    p.codes[at] = b[8 + i] & 15u, p.codes[at + 16] = b[8 + i] >> 4;
  }
}

void join_iq4_xs(const BlockParts& p, uint8_t* b) {
  join_outer(p, 1, b);
  std::fill_n(b + 4, 4, uint8_t{0});
  uint32_t high = 0;
  for (size_t g = 0; g < 8; ++g) {
    b[4 + g / 2] = static_cast<uint8_t>(b[4 + g / 2] | (p.scales[g] & 15) << (g % 2 * 4));
    high |= (p.scales[g] >> 4 & 3) << (2 * g);
  }
  store_u16(b + 2, high);
  for (size_t i = 0; i < 128; ++i) {
    const size_t at = i / 16 * 32 + i % 16;
    b[8 + i] = static_cast<uint8_t>((p.codes[at] & 15) | (p.codes[at + 16] & 15) << 4);
  }
}

// -1, 0, 1 in two bits of two's complement.
constexpr uint32_t ternary_code(uint32_t digit) { return (digit - 1) & 3; }

// Digits in base 3, the first of a byte highest, scaled so that a byte times three has the next in its ninth bit.
uint32_t digit_of(uint8_t byte, int k) {
  constexpr uint32_t kPowers[] = {1, 3, 9, 27, 81};
  return (byte * kPowers[k] & 255) * 3 >> 8;
}

void split_tq1_0(const uint8_t* b, BlockParts& p) {
  for (int k = 0; k < 5; ++k) {
    const auto digit = static_cast<size_t>(k);
    for (size_t i = 0; i < 32; ++i) p.codes[32 * digit + i] = ternary_code(digit_of(b[i], k));
    for (size_t i = 0; i < 16; ++i) p.codes[160 + 16 * digit + i] = ternary_code(digit_of(b[32 + i], k));
    for (size_t i = 0; i < 4 && k < 4; ++i) p.codes[240 + 4 * digit + i] = ternary_code(digit_of(b[48 + i], k));
  }
  p.scales[0] = load_u16(b + 52);
}

void split_tq2_0(const uint8_t* b, BlockParts& p) {
  split_pairs(b, p);
  for (uint32_t& code : p.codes) code = ternary_code(code);
  p.scales[0] = load_u16(b + 64);
}

void split_wide_tq2_0(const uint8_t* b, BlockParts& p) {
  split_pairs(b, p);
  for (uint32_t& code : p.codes) code = (1 - code) & 3;
  p.scales[0] = load_u16(b + 64) ^ 0x8000;
}

}  // namespace

const BlockLayout q2_k_layout{split_q2_k, join_q2_k};
const BlockLayout q3_k_layout{split_q3_k, join_q3_k};
const BlockLayout q4_k_layout{split_q4_k, join_q4_k};
const BlockLayout q5_k_layout{split_q5_k, join_q5_k};
const BlockLayout q6_k_layout{split_q6_k, join_q6_k};
const BlockLayout iq4_xs_layout{split_iq4_xs, join_iq4_xs};
const BlockLayout tq1_0_layout{split_tq1_0};
const BlockLayout tq2_0_layout{split_tq2_0};
const BlockLayout tq2_0_wide_layout{split_wide_tq2_0};

}  // namespace hone
