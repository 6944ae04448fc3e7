// Where the codes and scales of a block lie in a GGUF file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hone {

// A block as hone's planes have it: codes in the order of elements, then the scales of its groups (two of each where
// there is a minimum), then its outer scales.
struct BlockParts {
  std::array<uint32_t, 256> codes;
  std::array<uint32_t, 32> scales;
  std::array<uint32_t, 2> outer;
};

struct BlockLayout {
  void (*split)(const uint8_t* block, BlockParts& parts);
  void (*join)(const BlockParts& parts, uint8_t* block) = nullptr;  // null: never written
};

extern const BlockLayout q4_0_layout, q4_1_layout, q5_0_layout, q5_1_layout, q8_0_layout, iq4_nl_layout, mxfp4_blocks,
    nvfp4_blocks, q1_0_layout, q2_0_layout;  // simple_blocks.cc
extern const BlockLayout q2_k_layout, q3_k_layout, q4_k_layout, q5_k_layout, q6_k_layout, iq4_xs_layout, tq1_0_layout,
    tq2_0_layout;  // super_blocks.cc
extern const BlockLayout iq1_s_layout, iq1_m_layout, iq2_xxs_layout, iq2_xs_layout, iq2_s_layout, iq3_xxs_layout,
    iq3_s_layout;  // codebook_blocks.cc
// TQ2_0 whose codes are not all of -1, 0, 1: as int2, negated.
extern const BlockLayout tq2_0_wide_layout;

inline uint32_t load_u16(const uint8_t* p) { return static_cast<uint32_t>(p[0] | p[1] << 8); }
inline void store_u16(uint8_t* p, uint32_t x) { p[0] = static_cast<uint8_t>(x), p[1] = static_cast<uint8_t>(x >> 8); }

}  // namespace hone
