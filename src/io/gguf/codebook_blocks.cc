// Blocks of 256 elements whose values are entries of codebooks, with signs and scales beside. No format has codebooks:
// what the entries stand for becomes integers, whose scales are exact in f32 (docs/gguf.md).
#include <algorithm>
#include <bit>

#include "base/float_bits.h"
#include "io/gguf/block_layout.h"
#include "io/gguf/codebooks.h"

namespace hone {
namespace {

using std::size_t;

uint32_t load_u32(const uint8_t* p) { return load_u16(p) | load_u16(p + 2) << 16; }

// Seven signs, and an eighth by which their number is even.
uint32_t eight_signs(uint32_t seven) { return seven | (static_cast<uint32_t>(std::popcount(seven)) & 1) << 7; }

// Elements `at` and on: of the entry, each negative where its bit is set; in two's complement of `width` bits.
template <class Magnitudes>
void put_entry(uint32_t entry, int bits, const Magnitudes& magnitudes, uint32_t signs, int width, size_t at,
               BlockParts& p) {
  const size_t count = bits == 2 ? 8 : 4;
  for (size_t i = 0; i < count; ++i) {
    const int magnitude = magnitudes[entry >> (bits * static_cast<int>(i)) & ((1u << bits) - 1)];
    const int value = signs >> i & 1 ? -magnitude : magnitude;
    p.codes[at + i] = static_cast<uint32_t>(value) & ((1u << width) - 1);
  }
}

uint32_t scale_bits(float d, float factor) { return std::bit_cast<uint32_t>(d * factor); }
float half_at(const uint8_t* p) { return f16_to_f32(static_cast<uint16_t>(load_u16(p))); }

// Of each 32 elements: four numbers of entries, then four times seven signs under a scale of four bits.
void split_iq2_xxs(const uint8_t* b, BlockParts& p) {
  const float d = half_at(b);
  for (size_t g = 0; g < 8; ++g) {
    const uint8_t* entries = b + 2 + 8 * g;
    const uint32_t rest = load_u32(entries + 4);
    p.scales[g] = scale_bits(d, (0.5f + static_cast<float>(rest >> 28)) * 0.25f);
    for (size_t l = 0; l < 4; ++l)
      put_entry(iq2_xxs_codebook[entries[l]], 2, kIq2Magnitudes, eight_signs(rest >> 7 * l & 127), 7, 32 * g + 8 * l,
                p);
  }
}

// Scales of 16 elements, in nibbles.
void split_iq2_scales(float d, const uint8_t* nibbles, BlockParts& p) {
  for (size_t g = 0; g < 16; ++g)
    p.scales[g] = scale_bits(d, (0.5f + static_cast<float>(nibbles[g / 2] >> g % 2 * 4 & 15)) * 0.25f);
}

// Numbers of nine bits under seven signs.
void split_iq2_xs(const uint8_t* b, BlockParts& p) {
  for (size_t l = 0; l < 32; ++l) {
    const uint32_t q = load_u16(b + 2 + 2 * l);
    put_entry(iq2_xs_codebook[q & 511], 2, kIq2Magnitudes, eight_signs(q >> 9), 7, 8 * l, p);
  }
  split_iq2_scales(half_at(b), b + 66, p);
}

// Numbers of ten bits, whose two highest lie apart; eight signs.
void split_iq2_s(const uint8_t* b, BlockParts& p) {
  for (size_t l = 0; l < 32; ++l) {
    const uint32_t high = b[66 + l / 4] >> l % 4 * 2 & 3u;
    put_entry(iq2_s_codebook[b[2 + l] | high << 8], 2, kIq2Magnitudes, b[34 + l], 7, 8 * l, p);
  }
  split_iq2_scales(half_at(b), b + 74, p);
}

void split_iq3_xxs(const uint8_t* b, BlockParts& p) {
  const float d = half_at(b);
  for (size_t g = 0; g < 8; ++g) {
    const uint32_t rest = load_u32(b + 66 + 4 * g);
    p.scales[g] = scale_bits(d, (0.5f + static_cast<float>(rest >> 28)) * 0.5f);
    for (size_t l = 0; l < 8; ++l)
      put_entry(iq3_xxs_codebook[b[2 + 8 * g + l]], 3, kIq3XxsMagnitudes,
                eight_signs(rest >> l / 2 * 7 & 127) >> l % 2 * 4, 7, 32 * g + 4 * l, p);
  }
}

void split_iq3_s(const uint8_t* b, BlockParts& p) {
  const float d = half_at(b);
  for (size_t g = 0; g < 8; ++g) {
    p.scales[g] = scale_bits(d, static_cast<float>(1 + 2 * (b[106 + g / 2] >> g % 2 * 4 & 15)));
    for (size_t l = 0; l < 8; ++l) {
      const uint32_t high = b[66 + g] >> l & 1u;
      put_entry(iq3_s_codebook[b[2 + 8 * g + l] | high << 8], 3, kIq3SMagnitudes,
                b[74 + 4 * g + l / 2] >> l % 2 * 4 & 15u, 5, 32 * g + 4 * l, p);
    }
  }
}

// Of an entry's codes less 1 and an eighth more or less: eight times that.
void put_eighths(uint32_t entry, bool less, size_t at, BlockParts& p) {
  for (size_t i = 0; i < 8; ++i) {
    const int value = 8 * (static_cast<int>(entry >> 2 * i & 3) - 1) + (less ? -1 : 1);
    p.codes[at + i] = static_cast<uint32_t>(value) & 31;
  }
}

// Of each 32 elements 16 bits: the highest three of four numbers, three of the scale, and the sign of the eighth.
void split_iq1_s(const uint8_t* b, BlockParts& p) {
  const float d = half_at(b);
  for (size_t g = 0; g < 8; ++g) {
    const uint32_t rest = load_u16(b + 34 + 2 * g);
    p.scales[g] = scale_bits(d, static_cast<float>(2 * (rest >> 12 & 7) + 1) * 0.125f);
    for (size_t l = 0; l < 4; ++l)
      put_eighths(iq1_codebook[b[2 + 4 * g + l] | (rest >> 3 * l & 7) << 8], (rest >> 15) != 0, 32 * g + 8 * l, p);
  }
}

// Of each number a nibble: its highest three bits and the sign of the eighth. Four words of 16 bits: a nibble of the
// outer scale above four scales of 16 elements.
void split_iq1_m(const uint8_t* b, BlockParts& p) {
  uint32_t outer = 0;
  for (size_t i = 0; i < 4; ++i) outer |= (load_u16(b + 48 + 2 * i) >> 12) << 4 * i;
  const float d = f16_to_f32(static_cast<uint16_t>(outer));
  for (size_t g = 0; g < 16; ++g) {
    const uint32_t scale = load_u16(b + 48 + g / 4 * 2) >> g % 4 * 3 & 7;
    p.scales[g] = scale_bits(d, static_cast<float>(2 * scale + 1) * 0.125f);
  }
  for (size_t l = 0; l < 32; ++l) {
    const uint32_t rest = b[32 + l / 2] >> l % 2 * 4 & 15u;
    put_eighths(iq1_codebook[b[l] | (rest & 7) << 8], rest >= 8, 8 * l, p);
  }
}

}  // namespace

const BlockLayout iq1_s_layout{split_iq1_s}, iq1_m_layout{split_iq1_m}, iq2_xxs_layout{split_iq2_xxs},
    iq2_xs_layout{split_iq2_xs}, iq2_s_layout{split_iq2_s}, iq3_xxs_layout{split_iq3_xxs}, iq3_s_layout{split_iq3_s};

}  // namespace hone
