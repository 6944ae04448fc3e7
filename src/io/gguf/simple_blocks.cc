// Blocks with one scale, or one for each group: up to 128 elements. Byte j of a group of 32 holds element j in its low
// half and element j + 16 in its high half; of a group of 16 likewise.
#include "io/gguf/block_layout.h"

namespace hone {
namespace {

using std::size_t;

// `n` codes of four bits.
void split_nibbles(const uint8_t* bytes, int n, uint32_t flip, uint32_t* codes) {
  for (int j = 0; j < n / 2; ++j) {
    codes[j] = (bytes[j] & 15u) ^ flip;
    codes[j + n / 2] = (bytes[j] >> 4) ^ flip;
  }
}

void join_nibbles(const uint32_t* codes, int n, uint32_t flip, uint8_t* bytes) {
  for (int j = 0; j < n / 2; ++j)
    bytes[j] = static_cast<uint8_t>(((codes[j] ^ flip) & 15) | ((codes[j + n / 2] ^ flip) & 15) << 4);
}

// 32 codes of five bits: their highest in four bytes, bit j of element j, then the others.
void split_fives(const uint8_t* bytes, uint32_t flip, uint32_t* codes) {
  split_nibbles(bytes + 4, 32, 0, codes);
  for (int j = 0; j < 32; ++j) codes[j] = (codes[j] | (bytes[j / 8] >> (j % 8) & 1u) << 4) ^ flip;
}

void join_fives(const uint32_t* codes, uint32_t flip, uint8_t* bytes) {
  join_nibbles(codes, 32, flip & 15, bytes + 4);
  for (int j = 0; j < 4; ++j) bytes[j] = 0;
  for (int j = 0; j < 32; ++j) bytes[j / 8] |= static_cast<uint8_t>(((codes[j] ^ flip) >> 4 & 1) << (j % 8));
}

void split_scales(const uint8_t* block, int count, BlockParts& p) {
  for (int i = 0; i < count; ++i) p.scales[static_cast<size_t>(i)] = load_u16(block + 2 * i);
}

void join_scales(const BlockParts& p, int count, uint8_t* block) {
  for (int i = 0; i < count; ++i) store_u16(block + 2 * i, p.scales[static_cast<size_t>(i)]);
}

// The scale, and the minimum where kScales is 2; kFlip: the code of zero, from which two's complement counts.
template <int kScales, uint32_t kFlip>
constexpr BlockLayout kNibbles{
    [](const uint8_t* block, BlockParts& p) {
      split_scales(block, kScales, p), split_nibbles(block + 2 * kScales, 32, kFlip, p.codes.data());
    },
    [](const BlockParts& p, uint8_t* block) {
      join_scales(p, kScales, block), join_nibbles(p.codes.data(), 32, kFlip, block + 2 * kScales);
    }};

template <int kScales, uint32_t kFlip>
constexpr BlockLayout kFives{[](const uint8_t* block, BlockParts& p) {
                               split_scales(block, kScales, p), split_fives(block + 2 * kScales, kFlip, p.codes.data());
                             },
                             [](const BlockParts& p, uint8_t* block) {
                               join_scales(p, kScales, block), join_fives(p.codes.data(), kFlip, block + 2 * kScales);
                             }};

// Groups of 16 with a scale of eight bits whose sign is ignored; its NaN stands for 0 (docs/gguf.md).
void split_nvfp4(const uint8_t* block, BlockParts& p) {
  for (int g = 0; g < 4; ++g) {
    const uint32_t scale = block[g] & 0x7fu;
    p.scales[static_cast<size_t>(g)] = scale == 0x7f ? 0 : scale;
    split_nibbles(block + 4 + 8 * g, 16, 0, p.codes.data() + 16 * g);
  }
}

}  // namespace

const BlockLayout q4_0_layout = kNibbles<1, 8>;
const BlockLayout q4_1_layout = kNibbles<2, 0>;
const BlockLayout q5_0_layout = kFives<1, 16>;
const BlockLayout q5_1_layout = kFives<2, 0>;
const BlockLayout iq4_nl_layout = kNibbles<1, 0>;

const BlockLayout q8_0_layout{[](const uint8_t* block, BlockParts& p) {
                                split_scales(block, 1, p);
                                for (size_t j = 0; j < 32; ++j) p.codes[j] = block[2 + j];
                              },
                              [](const BlockParts& p, uint8_t* block) {
                                join_scales(p, 1, block);
                                for (size_t j = 0; j < 32; ++j) block[2 + j] = static_cast<uint8_t>(p.codes[j]);
                              }};

const BlockLayout mxfp4_blocks{[](const uint8_t* block, BlockParts& p) {
                                 p.scales[0] = block[0], split_nibbles(block + 1, 32, 0, p.codes.data());
                               },
                               [](const BlockParts& p, uint8_t* block) {
                                 block[0] = static_cast<uint8_t>(p.scales[0]),
                                 join_nibbles(p.codes.data(), 32, 0, block + 1);
                               }};

const BlockLayout nvfp4_blocks{split_nvfp4};

// Bit 1 is +, which hone's sign codec has as 0.
const BlockLayout q1_0_layout{[](const uint8_t* block, BlockParts& p) {
  split_scales(block, 1, p);
  for (size_t i = 0; i < 128; ++i) p.codes[i] = (block[2 + i / 8] >> (i % 8) & 1u) ^ 1u;
}};

// d (q - 1), q up to 3: 2 d has no code in two's complement of two bits, but -2 times -d has.
const BlockLayout q2_0_layout{[](const uint8_t* block, BlockParts& p) {
  p.scales[0] = load_u16(block) ^ 0x8000;
  for (size_t i = 0; i < 64; ++i) p.codes[i] = (1u - (block[2 + i / 4] >> (i % 4 * 2) & 3u)) & 3u;
}};

}  // namespace hone
