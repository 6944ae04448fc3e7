// How close a result is to its reference. Sums are in double.
#pragma once

#include <cstdint>
#include <span>

namespace hone {

struct Quality {
  double cosine = 1;  // of the two as vectors; 1 when both are all zero, 0 when one is
  double max_abs_error = 0;
  double max_rel_error = 0;  // largest |error| / |reference| over elements whose reference is not 0
  double sqnr_db = 0;        // 10 log10(sum reference^2 / sum error^2); infinite when they are equal
  int64_t elements = 0;
  // Elements where either is NaN or infinite. They are left out of everything above when both are the same; otherwise
  // cosine and SQNR are NaN and the largest error is infinite.
  int64_t not_finite = 0;
};

// Throws Error when the lengths differ.
Quality compare(std::span<const float> reference, std::span<const float> result);

// Share of rows whose largest element is at the same place; rows of `width` elements, the first of equals counts. A row
// whose reference or result holds NaN does not agree. Throws Error when the lengths differ or are no multiple of width.
double top1_agreement(std::span<const float> reference, std::span<const float> result, int64_t width);

struct RowCosine {
  double mean = 1, min = 1;
  int64_t rows = 0;
};
// Cosine of each row with its reference.
RowCosine row_cosine(std::span<const float> reference, std::span<const float> result, int64_t width);

}  // namespace hone
