// Which class a row of scores stands for.
#pragma once

#include <cstdint>
#include <span>

namespace hone {

// The place of the largest score, the first of equals; -1 when one of them is NaN.
int64_t predicted_class(std::span<const float> scores);

// How many scores are above that of `right`, and, of those that equal it, how many come first. All of them when one is
// NaN.
int64_t rank_of_class(std::span<const float> scores, int64_t right);

}  // namespace hone
