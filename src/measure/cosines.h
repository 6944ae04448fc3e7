// Cosines of many rows with many: of rows scaled to length 1, by products.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone {

class Directions {
 public:
  // Rows that are all zero or not finite become zeros, whose cosine with anything is 0.
  Directions(std::span<const float> rows, int64_t width);
  int64_t rows() const { return width_ == 0 ? 0 : std::ssize(values_) / width_; }
  float cosine(int64_t row, const Directions& other, int64_t other_row) const;

 private:
  std::vector<float> values_;
  int64_t width_;
};

}  // namespace hone
