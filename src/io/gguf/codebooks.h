// Entries of the codebooks of IQ1, IQ2 and IQ3: the values of neighboring weights, by the number that a block stores.
#pragma once

#include <array>
#include <cstdint>

namespace hone {

// Eight codes of two bits, the first lowest.
extern const std::array<uint16_t, 2048> iq1_codebook;  // codes less 1: -1, 0, 1
extern const std::array<uint16_t, 256> iq2_xxs_codebook;
extern const std::array<uint16_t, 512> iq2_xs_codebook;
extern const std::array<uint16_t, 1024> iq2_s_codebook;
constexpr std::array<int, 3> kIq2Magnitudes{8, 25, 43};  // by code

// Four codes of three bits, the first lowest.
extern const std::array<uint16_t, 256> iq3_xxs_codebook;
extern const std::array<uint16_t, 512> iq3_s_codebook;
constexpr std::array<int, 8> kIq3XxsMagnitudes{4, 12, 20, 28, 36, 44, 52, 62};
constexpr std::array<int, 8> kIq3SMagnitudes{1, 3, 5, 7, 9, 11, 13, 15};

}  // namespace hone
