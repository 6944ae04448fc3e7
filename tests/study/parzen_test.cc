// Densities that leave out what can't count, beside the same sums with all of their terms.
#include "study/samplers/parzen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "study/samplers/truncated_normal.h"

namespace hone {
namespace {

// Optuna's rule as it is written: sorted, each as wide as the farther neighbour is away.
std::vector<double> sigmas_of(const std::vector<double>& mu, double low, double high) {
  std::vector<size_t> order(mu.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](size_t i) { return std::pair(mu[i], i); });
  std::vector<double> sigma(mu.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const double left = mu[order[i]] - (i == 0 ? low : mu[order[i - 1]]);
    const double right = (i + 1 == order.size() ? high : mu[order[i + 1]]) - mu[order[i]];
    const bool ends_count = mu.size() < 2;
    sigma[order[i]] = std::max(i > 0 || ends_count ? left : 0, i + 1 < order.size() || ends_count ? right : 0);
  }
  const double range = high - low, least = range / std::min(100.0, 2.0 + static_cast<double>(mu.size()));
  for (double& s : sigma) s = std::clamp(s, least, range);
  return sigma;
}

std::vector<double> all_terms(const Columns& observations, const Columns& points, double low, double high) {
  const size_t count = observations[0].size(), dimensions = observations.size();
  std::vector<double> weights = ParzenEstimator::default_weights(count);
  weights.push_back(1);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  Columns mu = observations, sigma;
  for (auto& column : mu) {
    sigma.push_back(sigmas_of(column, low, high));
    sigma.back().push_back(high - low);
    column.push_back((low + high) / 2);
  }
  std::vector<double> result;
  for (size_t p = 0; p < points[0].size(); ++p) {
    std::vector<double> terms;
    for (size_t k = 0; k <= count; ++k) {
      double term = std::log(weights[k] / sum);
      for (size_t d = 0; d < dimensions; ++d) {
        const double m = mu[d][k], s = sigma[d][k], z = (points[d][p] - m) / s;
        term -= 0.5 * z * z + std::log(s * std::sqrt(2 * M_PI)) + normal_log_mass((low - m) / s, (high - m) / s);
      }
      terms.push_back(term);
    }
    const double most = *std::ranges::max_element(terms);
    double total = 0;
    for (double term : terms) total += std::exp(term - most);
    result.push_back(most + std::log(total));
  }
  return result;
}

class Densities : public testing::TestWithParam<std::tuple<int, int>> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Densities,
                         testing::Combine(testing::Values(1, 3, 6),
                                          testing::Values(0, 1, 2, 7, 60, 98, 99, 400, 6000)));

TEST_P(Densities, AreThoseOfAllTerms) {
  const auto [dimensions, count] = GetParam();
  constexpr double kLow = -2, kHigh = 6;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Philox rng(seed, static_cast<uint64_t>(count));
    Columns observations(static_cast<size_t>(dimensions)), points(static_cast<size_t>(dimensions));
    std::vector<DistributionPtr> space;
    for (int d = 0; d < dimensions; ++d) {
      space.push_back(std::make_shared<const Distribution>(real_distribution("x", kLow, kHigh)));
      for (int i = 0; i < count; ++i) {
        double u = rng.uniform();
        if (seed == 1) u = std::floor(u * 5) / 5;                 // many in one place
        if (seed == 2) u = 0.001 * u + (i % 3 == 0 ? 0.999 : 0);  // at the ends
        if (seed == 3 && i % 7 == 0) u = 1.5 * u - 0.25;          // out of the range, which was another then
        observations[static_cast<size_t>(d)].push_back(kLow + u * (kHigh - kLow));
      }
      for (double u : {0.0, 1e-9, 0.013, 0.2, 0.4999, 0.5, 0.77, 0.995, 1.0})
        points[static_cast<size_t>(d)].push_back(kLow + u * (kHigh - kLow));
    }
    const std::vector<double> found = ParzenEstimator(space, observations, Bandwidth::neighbours).log_pdf(points);
    const std::vector<double> expected = all_terms(observations, points, kLow, kHigh);
    for (size_t p = 0; p < found.size(); ++p)
      EXPECT_NEAR(found[p], expected[p], 1e-9 * std::max(1.0, std::abs(expected[p])))
          << "seed " << seed << " point " << p;
  }
}

}  // namespace
}  // namespace hone
