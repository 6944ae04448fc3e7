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
#include "study/distribution.h"
#include "study/samplers/continuous_kernels.h"

namespace hone {

using Columns = std::vector<std::vector<double>>;  // by parameter: one value for each observation, inside

class ParzenEstimator {
 public:
  // Observations from old to new. Without `weights` old ones count less beyond the last 25, as default_weights().
  ParzenEstimator(std::span<const DistributionPtr> space, Columns observations, Bandwidth bandwidth,
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
  struct Discrete {                 // kernels with the same mu and sigma are one group
    std::vector<uint32_t> group;    // by kernel
    std::vector<double> mu, sigma;  // by group
    std::vector<double> log_mass;   // within the range
  };
  struct Dimension {
    DistributionPtr distribution;
    Category category;
    ContinuousKernels kernels;  // of numbers; the range widened by half a step, in logarithms where log
    Discrete discrete;          // of those with steps
    bool is_continuous() const { return !distribution->is_category() && distribution->step == 0; }
  };

  void set_category(Dimension& dimension, std::span<const double> observations) const;
  void set_numbers(Dimension& dimension, std::vector<double> observations, Bandwidth bandwidth) const;
  void add_category(const Category& category, size_t choice, std::span<double> sums) const;
  void add_discrete(const Dimension& dimension, std::span<const double> points,
                    std::vector<std::vector<double>>& sums) const;
  std::vector<double> category_log_pdf(const Category& category, std::span<const double> points) const;
  std::vector<double> joint_log_pdf(std::span<const std::vector<double>> terms, const Columns& points) const;

  size_t kernels_ = 1;
  std::vector<double> weights_;
  std::vector<Dimension> dimensions_;
};

}  // namespace hone
