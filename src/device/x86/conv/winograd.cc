#include "device/x86/conv/winograd.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hone {
namespace {

// Coefficients, lowest power first, of the product of (x - p) over the points but one (`skip` < 0: over all).
std::vector<double> polynomial(const std::vector<double>& points, int skip) {
  std::vector<double> p{1};
  for (size_t i = 0; i < points.size(); ++i) {
    if (static_cast<int>(i) == skip) continue;
    p.push_back(0);
    for (size_t k = p.size() - 1; k > 0; --k) p[k] = p[k - 1] - points[i] * p[k];
    p[0] *= -points[i];
  }
  return p;
}

// Cook and Toom's construction: multiplication of polynomials by their values at the points and at infinity,
// transposed. Each point's factor 1 / prod(p - q) goes to the weights.
Winograd make(int64_t piece, const std::vector<double>& points) {
  Winograd w;
  w.piece = piece;
  const auto side = static_cast<size_t>(w.side());
  CHECK(points.size() + 1 == side);
  w.result.assign(static_cast<size_t>(piece), std::vector<double>(side, 0));
  w.weights.assign(side, std::vector<double>(3, 0));
  w.data.assign(side, std::vector<double>(side, 0));
  for (size_t i = 0; i < points.size(); ++i) {
    double factor = 1;
    for (size_t j = 0; j < points.size(); ++j)
      if (j != i) factor *= points[i] - points[j];
    for (size_t r = 0; r < 3; ++r) w.weights[i][r] = std::pow(points[i], r) / factor;
    for (size_t r = 0; r < w.result.size(); ++r) w.result[r][i] = std::pow(points[i], r);
    const std::vector<double> p = polynomial(points, static_cast<int>(i));
    std::copy(p.begin(), p.end(), w.data[i].begin());
  }
  w.weights[side - 1][2] = 1;
  w.result.back()[side - 1] = 1;
  const std::vector<double> all = polynomial(points, -1);
  std::copy(all.begin(), all.end(), w.data[side - 1].begin());
  return w;
}

}  // namespace

// Small points keep errors small, and powers of these are exact in f32: with them a sum over 64 channels is off by
// twice what the direct sum is, with the textbook's 0, ±1, ±2 by four times (bench/peers/winograd_error.py).
const Winograd& winograd(int64_t piece) {
  static const Winograd two = make(2, {0, 1, -1}), four = make(4, {0, 0.75, -0.75, 1.5, -1.5});
  CHECK(piece == 2 || piece == 4);
  return piece == 2 ? two : four;
}

double winograd_growth(const Winograd& w) {
  // |Aᵀ| (|G| 1 ⊙ |Bᵀ| 1) in one dimension, against the 3 products of a direct sum; the other dimension multiplies.
  double most = 0;
  for (const std::vector<double>& row : w.result) {
    double sum = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      double weights = 0, data = 0;
      for (double g : w.weights[i]) weights += std::abs(g);
      for (double b : w.data[i]) data += std::abs(b);
      sum += std::abs(row[i]) * weights * data;
    }
    most = std::max(most, sum / 3);
  }
  return most * most;
}

}  // namespace hone
