#include "study/samplers/cma.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hone {
namespace {

using Matrix = std::vector<std::vector<double>>;

Matrix identity(size_t n) {
  Matrix m(n, std::vector<double>(n, 0));
  for (size_t i = 0; i < n; ++i) m[i][i] = 1;
  return m;
}

// Jacobi's method: rotations until nothing is left beside the diagonal. `a` becomes diagonal; columns of the result are
// eigenvectors.
Matrix diagonalise(Matrix& a) {
  const size_t n = a.size();
  Matrix v = identity(n);
  for (int sweep = 0; sweep < 50; ++sweep) {
    double off = 0, diagonal = 0;
    for (size_t i = 0; i < n; ++i) {
      diagonal += a[i][i] * a[i][i];
      for (size_t j = i + 1; j < n; ++j) off += a[i][j] * a[i][j];
    }
    if (off <= 1e-30 * diagonal) break;
    for (size_t p = 0; p < n; ++p)
      for (size_t q = p + 1; q < n; ++q) {
        if (a[p][q] == 0) continue;
        const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (size_t k = 0; k < n; ++k) {
          const double x = a[k][p], y = a[k][q];
          a[k][p] = c * x - s * y;
          a[k][q] = s * x + c * y;
        }
        for (size_t k = 0; k < n; ++k) {
          const double x = a[p][k], y = a[q][k];
          a[p][k] = c * x - s * y;
          a[q][k] = s * x + c * y;
        }
        for (size_t k = 0; k < n; ++k) {
          const double x = v[k][p], y = v[k][q];
          v[k][p] = c * x - s * y;
          v[k][q] = s * x + c * y;
        }
      }
  }
  return v;
}

double normal(Philox& rng) {
  const double u = 1 - rng.uniform(), v = rng.uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

}  // namespace

Cma::Cma(std::vector<double> mean, double sigma, int64_t population)
    : n_(mean.size()), mean_(std::move(mean)), sigma_(sigma) {
  CHECK(n_ > 0 && sigma > 0);
  const auto n = static_cast<double>(n_);
  population_ = population > 0 ? static_cast<size_t>(population) : static_cast<size_t>(4 + std::floor(3 * std::log(n)));
  CHECK(population_ >= 2);
  parents_ = population_ / 2;
  double sum = 0, squares = 0;
  for (size_t i = 0; i < parents_; ++i) {
    weights_.push_back(std::log((static_cast<double>(population_) + 1) / 2) - std::log(static_cast<double>(i) + 1));
    sum += weights_.back();
  }
  for (double& w : weights_) {
    w /= sum;
    squares += w * w;
  }
  effective_ = 1 / squares;
  c_sigma_ = (effective_ + 2) / (n + effective_ + 5);
  d_sigma_ = 1 + 2 * std::max(0.0, std::sqrt((effective_ - 1) / (n + 1)) - 1) + c_sigma_;
  c_c_ = (4 + effective_ / n) / (n + 4 + 2 * effective_ / n);
  c_1_ = 2 / ((n + 1.3) * (n + 1.3) + effective_);
  c_mu_ = std::min(1 - c_1_, 2 * (effective_ - 2 + 1 / effective_) / ((n + 2) * (n + 2) + effective_));
  expected_norm_ = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
  path_sigma_.assign(n_, 0);
  path_c_.assign(n_, 0);
  covariance_ = identity(n_);
  vectors_ = identity(n_);
  roots_.assign(n_, 1);
}

std::vector<double> Cma::sample(Philox& rng) const {
  std::vector<double> z(n_), x = mean_;
  for (size_t j = 0; j < n_; ++j) z[j] = normal(rng) * roots_[j];
  for (size_t i = 0; i < n_; ++i)
    for (size_t j = 0; j < n_; ++j) x[i] += sigma_ * vectors_[i][j] * z[j];
  return x;
}

void Cma::decompose() {
  Matrix diagonal = covariance_;
  vectors_ = diagonalise(diagonal);
  for (size_t i = 0; i < n_; ++i) roots_[i] = std::sqrt(std::max(diagonal[i][i], 1e-20));
}

void Cma::tell(const std::vector<std::vector<double>>& best_first) {
  CHECK(best_first.size() == population_);
  ++generation_;
  const auto n = static_cast<double>(n_);
  const std::vector<double> before = mean_;
  std::vector<double> step(n_, 0);  // of the mean, in standard deviations
  for (size_t i = 0; i < n_; ++i) {
    for (size_t k = 0; k < parents_; ++k) step[i] += weights_[k] * (best_first[k][i] - before[i]) / sigma_;
    mean_[i] = before[i] + sigma_ * step[i];
  }
  // C^(-1/2) · step, through the eigenvectors.
  std::vector<double> white(n_, 0);
  for (size_t j = 0; j < n_; ++j) {
    double along = 0;
    for (size_t i = 0; i < n_; ++i) along += vectors_[i][j] * step[i];
    for (size_t i = 0; i < n_; ++i) white[i] += vectors_[i][j] * along / roots_[j];
  }
  double norm = 0;
  for (size_t i = 0; i < n_; ++i) {
    path_sigma_[i] = (1 - c_sigma_) * path_sigma_[i] + std::sqrt(c_sigma_ * (2 - c_sigma_) * effective_) * white[i];
    norm += path_sigma_[i] * path_sigma_[i];
  }
  norm = std::sqrt(norm);
  const double warm = std::sqrt(1 - std::pow(1 - c_sigma_, 2.0 * static_cast<double>(generation_)));
  const bool moves = norm / warm < (1.4 + 2 / (n + 1)) * expected_norm_;
  for (size_t i = 0; i < n_; ++i)
    path_c_[i] = (1 - c_c_) * path_c_[i] + (moves ? std::sqrt(c_c_ * (2 - c_c_) * effective_) * step[i] : 0);
  const double missing = moves ? 0 : c_c_ * (2 - c_c_);
  for (size_t i = 0; i < n_; ++i)
    for (size_t j = 0; j < n_; ++j) {
      double spread = 0;
      for (size_t k = 0; k < parents_; ++k)
        spread += weights_[k] * (best_first[k][i] - before[i]) / sigma_ * (best_first[k][j] - before[j]) / sigma_;
      covariance_[i][j] =
          (1 - c_1_ - c_mu_ + c_1_ * missing) * covariance_[i][j] + c_1_ * path_c_[i] * path_c_[j] + c_mu_ * spread;
    }
  sigma_ *= std::exp(std::min(1.0, c_sigma_ / d_sigma_ * (norm / expected_norm_ - 1)));
  sigma_ = std::clamp(sigma_, 1e-12, 1e6);
  decompose();
}

}  // namespace hone
