#include "measure/quality.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "measure/prediction.h"

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

std::vector<double> log_softmax(std::span<const float> scores) {
  const double most = *std::ranges::max_element(scores);
  double sum = 0;
  for (float s : scores) sum += std::exp(s - most);
  std::vector<double> logs;
  for (float s : scores) logs.push_back(s - most - std::log(sum));
  return logs;
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

double SquaredError::relative() const {
  if (!std::isfinite(error)) return INFINITY;
  return reference > 0 ? error / reference : error > 0 ? INFINITY : 0;
}

SquaredError& SquaredError::operator+=(const SquaredError& other) {
  error += other.error, reference += other.reference;
  return *this;
}

SquaredError squared_error(std::span<const float> reference, std::span<const float> result) {
  SquaredError sums;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double r = reference[i], d = result[i] - r;
    sums.error += d * d, sums.reference += r * r;
  }
  return sums;
}

std::vector<SquaredError> squared_errors(std::span<const float> reference, std::span<const float> result,
                                         size_t parts) {
  if (reference.size() != result.size()) return std::vector<SquaredError>(parts, SquaredError{INFINITY, 1});
  std::vector<SquaredError> sums;
  const size_t size = reference.size() / parts;
  for (size_t p = 0; p < parts; ++p)
    sums.push_back(squared_error(reference.subspan(p * size, size), result.subspan(p * size, size)));
  return sums;
}

// The interval is from what each part adds to the mean: a ratio of sums varies as the sum of
// (error - ratio * reference) / reference does, to first order.
RelativeError relative_error(std::span<const std::vector<SquaredError>> parts_of_outputs) {
  RelativeError all;
  const auto outputs = static_cast<double>(parts_of_outputs.size());
  std::vector<double> added(parts_of_outputs[0].size(), 0.0);
  for (const std::vector<SquaredError>& parts : parts_of_outputs) {
    SquaredError sum;
    for (const SquaredError& part : parts) sum += part;
    const double relative = sum.relative(), n = static_cast<double>(parts.size());
    all.mean += relative / outputs;
    if (!(sum.reference > 0) || !std::isfinite(relative)) continue;
    for (size_t p = 0; p < parts.size(); ++p)
      added[p] += (parts[p].error - relative * parts[p].reference) / (sum.reference / n) / outputs;
  }
  if (std::isnan(all.mean)) all.mean = INFINITY;
  all.ci95 = {0, INFINITY};
  if (!std::isfinite(all.mean)) return all;
  for (double& a : added) a += all.mean;
  const Interval ci95 = mean_interval(added);
  all.ci95 = {std::max(0.0, ci95.low), ci95.high};
  return all;
}

double is_same_class(std::span<const float> reference, std::span<const float> result) {
  const int64_t place = predicted_class(reference);
  return place >= 0 && place == predicted_class(result);
}

double divergence(std::span<const float> reference, std::span<const float> result) {
  const std::vector<double> p = log_softmax(reference), q = log_softmax(result);
  double sum = 0;
  for (size_t c = 0; c < p.size(); ++c)
    if (const double share = std::exp(p[c]); share > 0) sum += share * (p[c] - q[c]);
  return std::isnan(sum) ? sum : std::max(sum, 0.0);
}

std::vector<double> row_values(std::span<const float> reference, std::span<const float> result, int64_t width,
                               RowValue value) {
  require_rows(reference, result, width);
  const auto w = static_cast<size_t>(width);
  std::vector<double> values;
  for (size_t at = 0; at < reference.size(); at += w)
    values.push_back(value(reference.subspan(at, w), result.subspan(at, w)));
  return values;
}

double top1_agreement(std::span<const float> reference, std::span<const float> result, int64_t width) {
  const std::vector<double> same = row_values(reference, result, width, is_same_class);
  if (same.empty()) return 1;
  return std::accumulate(same.begin(), same.end(), 0.0) / static_cast<double>(same.size());
}

RowCosine row_cosine(std::span<const float> reference, std::span<const float> result, int64_t width) {
  const auto cosine_of_rows = [](std::span<const float> a, std::span<const float> b) { return compare(a, b).cosine; };
  const std::vector<double> cosines = row_values(reference, result, width, cosine_of_rows);
  RowCosine rows{.rows = std::ssize(cosines)};
  double sum = 0;
  for (double cosine : cosines) {
    sum += cosine;
    rows.min = std::isnan(cosine) ? cosine : std::min(rows.min, cosine);  // NaN stays: no later one is below it
  }
  if (rows.rows > 0) rows.mean = sum / static_cast<double>(rows.rows);
  return rows;
}

}  // namespace hone
