// Numbers at which sizes, axes and counts go wrong: around zero, powers of two, the ends of 32 and 64 bits.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "base/philox.h"

namespace hone::fuzz {

constexpr std::array<int64_t, 26> kSpecialNumbers{std::numeric_limits<int64_t>::min(),
                                                  -(int64_t{1} << 62),
                                                  -(int64_t{1} << 32),
                                                  -(int64_t{1} << 31) - 1,
                                                  -(int64_t{1} << 31),
                                                  -1000,
                                                  -3,
                                                  -2,
                                                  -1,
                                                  0,
                                                  1,
                                                  2,
                                                  3,
                                                  4,
                                                  7,
                                                  16,
                                                  33,
                                                  255,
                                                  65536,
                                                  1'000'003,
                                                  (int64_t{1} << 31) - 1,
                                                  int64_t{1} << 31,
                                                  int64_t{1} << 32,
                                                  int64_t{1} << 40,
                                                  int64_t{1} << 62,
                                                  std::numeric_limits<int64_t>::max()};

inline int64_t special_number(Philox& random) {
  return kSpecialNumbers[random.below(static_cast<uint32_t>(kSpecialNumbers.size()))];
}

}  // namespace hone::fuzz
