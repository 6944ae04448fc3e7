// Division and multiples of positive integers, rounded up.
#pragma once

#include <cstdint>

namespace hone {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t value, int64_t multiple) { return ceil_div(value, multiple) * multiple; }

}  // namespace hone
