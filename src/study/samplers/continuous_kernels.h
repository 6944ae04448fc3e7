// The bumps of one number of a Parzen estimator: normal distributions cut to the number's range, one for each
// observation and the prior's behind them. Nearly all have one width when there are many, and lie in the range: those
// are plain, and what is summed over all is summed over them in a few instructions.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hone {

// How wide the bumps of numbers are: by the distance to the neighbours, or, in Optuna 4's multivariate mode, by
// Scott's rule, equal for all.
enum class Bandwidth : uint8_t { neighbours, scott };

class ContinuousKernels {
 public:
  ContinuousKernels() = default;
  // `dimensions` of the estimator, for Scott's rule.
  ContinuousKernels(std::vector<double> observations, double low, double high, Bandwidth bandwidth, size_t dimensions);

  size_t size() const { return mu_.size(); }
  double low() const { return low_; }
  double high() const { return high_; }
  std::span<const double> mu() const { return mu_; }
  double sigma(size_t k) const;
  double log_mass(size_t k) const;  // within the range; of plain ones between log 1/2 and 0
  double plain_sigma() const { return plain_sigma_; }
  // Those that are not plain, ascending, with their widths: wider, or around what is out of the range. The prior's,
  // too.
  std::span<const std::pair<uint32_t, double>> others() const { return others_; }

  // The logarithm of the density of the mixture at each x.
  std::vector<double> log_pdf(std::span<const double> weights, std::span<const double> xs) const;

 private:
  void set_neighbour_sigmas(double least);

  double low_ = 0, high_ = 0, plain_sigma_ = 1;
  std::vector<double> mu_;
  std::vector<std::pair<uint32_t, double>> others_;
};

}  // namespace hone
