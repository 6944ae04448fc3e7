// From scores to what stays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "prune/score.h"

namespace hone {

using Mask = std::vector<uint8_t>;  // 1: stays

// Exactly round(sparsity * elements) of all, or of each row, go; of equal scores the first. N:M: the best of each group
// of neighbours stay, and a rest of a row that fills no group stays as it is.
Mask keep_best(std::span<const float> scores, int64_t rows, int64_t columns, const Selection& selection);

// The shares that each of several layers loses when the lowest of all together go: exactly so many in all.
std::vector<double> shares_of_all(std::span<const std::vector<float>> scores, double sparsity);

}  // namespace hone
