// The covariance matrix adaptation evolution strategy, (mu/mu_w, lambda) with its standard constants.
// Hansen, "The CMA evolution strategy: a tutorial" (2016).
#pragma once

#include <span>
#include <vector>

#include "base/philox.h"

namespace hone {

class Cma {
 public:
  Cma(std::vector<double> mean, double sigma, int64_t population = 0);  // 0: 4 + 3 ln n

  std::vector<double> sample(Philox& rng) const;
  // A generation's points from the best to the worst: `population()` of them.
  void tell(const std::vector<std::vector<double>>& best_first);

  size_t population() const { return population_; }
  int64_t generation() const { return generation_; }
  const std::vector<double>& mean() const { return mean_; }
  double sigma() const { return sigma_; }

 private:
  void decompose();

  size_t n_, population_, parents_;
  std::vector<double> weights_;
  double effective_, c_sigma_, d_sigma_, c_c_, c_1_, c_mu_, expected_norm_;
  std::vector<double> mean_, path_sigma_, path_c_;
  double sigma_;
  std::vector<std::vector<double>> covariance_, vectors_;  // columns of vectors_ are eigenvectors
  std::vector<double> roots_;                              // of eigenvalues
  int64_t generation_ = 0;
};

}  // namespace hone
