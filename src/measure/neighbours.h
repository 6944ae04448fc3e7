// Whether embeddings that changed still have the same neighbours: what search, clustering and deduplication use of
// them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone {

// For each row the places of its k nearest other rows by cosine, nearest first, the first of equals; rows that are all
// zero or not finite are far from all. Throws Bug unless 1 <= k < rows.
std::vector<std::vector<int64_t>> nearest_rows(std::span<const float> rows, int64_t width, int64_t k);

// For each row the share of its k nearest others that it has in both. Throws Error when the lengths differ.
std::vector<double> shared_neighbours(std::span<const float> reference, std::span<const float> result, int64_t width,
                                      int64_t k);

}  // namespace hone
