#include "measure/quality.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace hone {
namespace {

void require_rows(std::span<const float> reference, std::span<const float> result, int64_t width) {
  if (reference.size() != result.size())
    fail("results of {} and {} elements can't be compared: they must have one shape", reference.size(), result.size());
  CHECK(width > 0);
  if (reference.size() % static_cast<size_t>(width) != 0)
    fail("{} elements are no whole number of rows of {}", reference.size(), width);
}

// Cosine from the three sums of products.
double cosine_of(double ab, double aa, double bb) {
  if (aa == 0 && bb == 0) return 1;
  if (aa == 0 || bb == 0) return 0;
  return ab / (std::sqrt(aa) * std::sqrt(bb));
}

// Index of the first largest element, -1 when there is a NaN.
int64_t argmax(std::span<const float> row) {
  if (std::any_of(row.begin(), row.end(), [](float x) { return std::isnan(x); })) return -1;
  return std::max_element(row.begin(), row.end()) - row.begin();
}

}  // namespace

Quality compare(std::span<const float> reference, std::span<const float> result) {
  require_rows(reference, result, 1);
  Quality q;
  q.elements = static_cast<int64_t>(reference.size());
  double ab = 0, aa = 0, bb = 0, noise = 0;
  bool differ = false;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double a = reference[i], b = result[i], error = std::abs(b - a);
    if (!std::isfinite(a) || !std::isfinite(b)) {
      ++q.not_finite;
      differ |= a != b && !(std::isnan(a) && std::isnan(b));
      continue;
    }
    ab += a * b, aa += a * a, bb += b * b, noise += error * error;
    q.max_abs_error = std::max(q.max_abs_error, error);
    if (a != 0) q.max_rel_error = std::max(q.max_rel_error, error / std::abs(a));
  }
  q.cosine = cosine_of(ab, aa, bb);
  q.sqnr_db = noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(aa / noise);
  if (differ) {
    q.cosine = q.sqnr_db = std::numeric_limits<double>::quiet_NaN();
    q.max_abs_error = q.max_rel_error = std::numeric_limits<double>::infinity();
  }
  return q;
}

double top1_agreement(std::span<const float> reference, std::span<const float> result, int64_t width) {
  require_rows(reference, result, width);
  const size_t w = static_cast<size_t>(width), rows = reference.size() / w;
  if (rows == 0) return 1;
  int64_t same = 0;
  for (size_t r = 0; r < rows; ++r) {
    const int64_t place = argmax(reference.subspan(r * w, w));
    same += place >= 0 && place == argmax(result.subspan(r * w, w));
  }
  return static_cast<double>(same) / static_cast<double>(rows);
}

RowCosine row_cosine(std::span<const float> reference, std::span<const float> result, int64_t width) {
  require_rows(reference, result, width);
  const size_t w = static_cast<size_t>(width);
  RowCosine rows;
  double sum = 0;
  for (size_t at = 0; at < reference.size(); at += w, ++rows.rows) {
    const double cosine = compare(reference.subspan(at, w), result.subspan(at, w)).cosine;
    sum += cosine;
    rows.min = std::isnan(cosine) ? cosine : std::min(rows.min, cosine);  // NaN stays: no later one is below it
  }
  if (rows.rows > 0) rows.mean = sum / static_cast<double>(rows.rows);
  return rows;
}

}  // namespace hone
