// How far a result is from its reference: the one place where that is computed. Over all elements, over rows (what lies
// along the last axis: an embedding, the scores of the classes), and as squares over parts, of which intervals are
// made. Sums are in double.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "measure/statistics.h"

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

// Sums of squares, which add up over parts of a result.
struct SquaredError {
  double error = 0, reference = 0;
  double relative() const;  // error / reference, 0 of 0 / 0; infinite where that is no number
  SquaredError& operator+=(const SquaredError& other);
};
SquaredError squared_error(std::span<const float> reference, std::span<const float> result);
// Of so many equal parts, one after the other. Results whose size depends on data may have another one: as far apart as
// can be.
std::vector<SquaredError> squared_errors(std::span<const float> reference, std::span<const float> result, size_t parts);

// The mean over outputs of their relative errors, infinite where a value is not finite; by Student's t over the parts,
// of which each output has as many.
struct RelativeError {
  double mean = 0;
  Interval ci95 = {0, 0};
};
RelativeError relative_error(std::span<const std::vector<SquaredError>> parts_of_outputs);

// Of two rows of scores. The same class: 1 where the largest element is at the same place, the first of equals counts;
// a row that holds NaN does not agree. The divergence: KL(reference || result) of the softmax of both, in nats.
double is_same_class(std::span<const float> reference, std::span<const float> result);
double divergence(std::span<const float> reference, std::span<const float> result);

// What `value` gives for each two rows of `width` elements. Throws Error when the lengths differ or are no multiple of
// width.
using RowValue = double (*)(std::span<const float> reference, std::span<const float> result);
std::vector<double> row_values(std::span<const float> reference, std::span<const float> result, int64_t width,
                               RowValue value);

// The share of rows with the same class. Throws Error as row_values() does.
double top1_agreement(std::span<const float> reference, std::span<const float> result, int64_t width);

struct RowCosine {
  double mean = 1, min = 1;
  int64_t rows = 0;
};
// Cosine of each row with its reference.
RowCosine row_cosine(std::span<const float> reference, std::span<const float> result, int64_t width);

}  // namespace hone
