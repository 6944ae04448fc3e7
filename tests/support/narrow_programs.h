// Programs of one or two numbers beside what narrowed() makes of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/philox.h"
#include "expr/narrow.h"
#include "tests/support/naive_scalar.h"

namespace hone::test {

inline bool uses_f64(const Program& program) {
  return std::ranges::any_of(program.code, [](const Instruction& in) { return in.type == Scalar::f64; });
}

inline std::vector<float> hard_numbers(Philox& rng) {
  std::vector<float> numbers;
  const float infinity = std::numeric_limits<float>::infinity();
  for (float v : {0.0f, 0.5f, 1.5f, 2.5f, 126.5f, 127.5f, 254.5f, 8388607.5f, 0x1p23f, 0x1p24f, 0x1p31f, 0x1p32f,
                  0x1p127f, 0x1p-126f, 0x1p-149f, 0x1.8p-140f, infinity, std::nanf("")})
    for (float s : {v, -v})
      for (float each : {s, std::nextafter(s, infinity), std::nextafter(s, -infinity)}) numbers.push_back(each);
  for (int n = 0; n < 40; ++n) numbers.push_back(std::bit_cast<float>(rng.next()));
  for (int n = 0; n < 40; ++n) numbers.push_back(static_cast<float>(rng.below(2000)) / 8 - 120);
  return numbers;
}

inline void expect_same_of_hard_numbers(const Program& program, Philox& rng) {
  const Program narrow = narrowed(program);
  const std::vector<float> numbers = hard_numbers(rng);
  for (float a : numbers)
    for (int n = 0; n < 6; ++n) {
      const float b = numbers[rng.below(static_cast<uint32_t>(numbers.size()))];
      std::vector<uint64_t> args{std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b), 0};
      args.resize(program.args.size());
      const uint64_t found = evaluate(narrow, args)[0], expected = evaluate(program, args)[0];
      ASSERT_TRUE(same_value(Scalar::f32, found, expected))
          << a << ", " << b << ": " << std::hex << found << " for " << expected << "\n"
          << program.to_text() << "\n"
          << narrow.to_text();
    }
}

}  // namespace hone::test
