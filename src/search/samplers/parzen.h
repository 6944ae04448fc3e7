// Parzen estimators as Optuna's TPE has them: a mixture of products, one component for each observation and one, as
// wide as the space, for what was believed before. Numbers get normal distributions cut to their range, categories a
// bump at what was observed.
//
// Bergstra et al., "Algorithms for hyper-parameter optimization" (2011); Watanabe, "Tree-structured Parzen estimator"
// (2023).
#pragma once

#include <span>
#include <vector>

#include "base/philox.h"
#include "search/distribution.h"

namespace hone {

using Columns = std::vector<std::vector<double>>;  // by parameter: one value for each observation, inside

// How wide the bumps of numbers are: by the distance to the neighbours, or, in Optuna 4's multivariate mode, by
// Scott's rule, equal for all.
enum class Bandwidth : uint8_t { neighbours, scott };

class ParzenEstimator {
 public:
  // Observations from old to new. Without `weights` old ones count less beyond the last 25, as default_weights().
  ParzenEstimator(std::span<const DistributionPtr> space, const Columns& observations, Bandwidth bandwidth,
                  std::vector<double> weights = {});

  Columns sample(Philox& rng, size_t count) const;
  std::vector<double> log_pdf(const Columns& points) const;  // of each point

  static std::vector<double> default_weights(size_t count);

 private:
  struct Category {
    size_t choices = 0;
    double hit = 0, miss = 0, prior = 0;    // probabilities in an observation's row and in the prior's
    std::vector<std::vector<uint32_t>> at;  // by choice: which observations are there
    std::vector<uint32_t> observed;
  };
  struct Normal {
    double low = 0, high = 0;           // of the range, widened by half a step, in logarithms where log
    std::vector<double> mu, sigma;      // of each kernel, the prior's last
    std::vector<double> inverse_sigma;  // of continuous ones
    double least = 0;                   // below it is no sigma; most have it when there are many
    std::vector<double> log_mass;       // within the range; of discrete ones by group
    std::vector<uint32_t> group;        // discrete: kernels with the same mu and sigma
    std::vector<double> mu_of, sigma_of;
  };
  struct Dimension {
    DistributionPtr distribution;
    Category category;
    Normal normal;
  };

  void set_category(Dimension& dimension, std::span<const double> observations) const;
  void set_normal(Dimension& dimension, std::span<const double> observations, Bandwidth bandwidth) const;
  void add_category(const Category& category, size_t choice, std::span<double> sums) const;
  void add_discrete(const Dimension& dimension, std::span<const double> points,
                    std::vector<std::vector<double>>& sums) const;
  std::vector<double> category_log_pdf(const Category& category, std::span<const double> points) const;
  std::vector<double> continuous_log_pdf(const Dimension& dimension, std::span<const double> points) const;
  std::vector<double> near_terms(std::span<double> terms, std::span<const size_t> continuous,
                                 std::span<const double> x) const;

  size_t kernels_ = 1;
  std::vector<double> weights_, cumulative_;
  std::vector<Dimension> dimensions_;
};

}  // namespace hone
