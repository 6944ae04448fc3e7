#include "search/samplers/parzen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.h"
#include "search/samplers/truncated_normal.h"

namespace hone {
namespace {

constexpr double kPriorWeight = 1;
constexpr double kLogRoot2Pi = 0.91893853320467274178;

// What Optuna calls magic clipping: no bump is narrower than this share of the range, so that a few observations in one
// place do not become the only place.
double least_sigma(double range, size_t kernels) { return range / std::min(100.0, 1.0 + static_cast<double>(kernels)); }

double log_sum(std::span<const double> terms) {
  const double most = *std::ranges::max_element(terms);
  if (std::isinf(most)) return most;
  double sum = 0;
  for (double term : terms)
    if (term - most > -50) sum += std::exp(term - most);  // what is smaller changes nothing: exp(-50) = 2e-22
  return most + std::log(sum);
}

}  // namespace

std::vector<double> ParzenEstimator::default_weights(size_t count) {
  std::vector<double> weights(count, 1.0);
  if (count <= 25) return weights;
  const size_t ramp = count - 25;
  const double first = 1.0 / static_cast<double>(count);
  for (size_t i = 0; i < ramp; ++i)
    weights[i] = ramp == 1 ? first : first + static_cast<double>(i) * (1 - first) / static_cast<double>(ramp - 1);
  return weights;
}

ParzenEstimator::ParzenEstimator(std::span<const DistributionPtr> space, const Columns& observations,
                                 Bandwidth bandwidth, std::vector<double> weights) {
  CHECK(!space.empty() && observations.size() == space.size());
  const size_t count = observations[0].size();
  kernels_ = count + 1;
  weights_ = weights.empty() ? default_weights(count) : std::move(weights);
  CHECK(weights_.size() == count);
  weights_.push_back(count == 0 ? 1.0 : kPriorWeight);
  const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  double before = 0;
  for (double& weight : weights_) {
    weight /= sum;
    cumulative_.push_back(before += weight);
  }
  for (size_t i = 0; i < space.size(); ++i) {
    Dimension& dimension = dimensions_.emplace_back();
    dimension.distribution = space[i];
    if (space[i]->is_category()) set_category(dimension, observations[i]);
  }
  for (size_t i = 0; i < space.size(); ++i)
    if (!space[i]->is_category()) set_normal(dimensions_[i], observations[i], bandwidth);
}

void ParzenEstimator::set_category(Dimension& dimension, std::span<const double> observations) const {
  Category& c = dimension.category;
  c.choices = dimension.distribution->choices.size();
  const auto choices = static_cast<double>(c.choices);
  const double flat = kPriorWeight / static_cast<double>(kernels_);
  c.hit = (flat + 1) / (choices * flat + 1);
  c.miss = flat / (choices * flat + 1);
  c.prior = 1 / choices;
  c.at.resize(c.choices);
  for (double value : observations) {
    const auto choice = static_cast<uint32_t>(value);
    c.at[choice].push_back(static_cast<uint32_t>(c.observed.size()));
    c.observed.push_back(choice);
  }
}

void ParzenEstimator::set_normal(Dimension& dimension, std::span<const double> observations,
                                 Bandwidth bandwidth) const {
  const Distribution& d = *dimension.distribution;
  Normal& n = dimension.normal;
  n.low = d.low - d.step / 2;
  n.high = d.high + d.step / 2;
  n.mu.assign(observations.begin(), observations.end());
  if (d.log) {
    n.low = std::log(n.low);
    n.high = std::log(n.high);
    for (double& mu : n.mu) mu = std::log(mu);
  }
  const size_t count = n.mu.size();
  const double range = n.high - n.low;
  n.sigma.assign(count, 0);
  if (bandwidth == Bandwidth::scott) {
    const double exponent = -1.0 / static_cast<double>(dimensions_.size() + 4);
    std::ranges::fill(n.sigma, 0.2 * std::pow(static_cast<double>(std::max<size_t>(count, 1)), exponent) * range);
  } else if (count > 0) {
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](uint32_t i) { return std::pair(n.mu[i], i); });
    for (size_t i = 0; i < count; ++i) {
      const double here = n.mu[order[i]];
      const double left = here - (i == 0 ? n.low : n.mu[order[i - 1]]);
      const double right = (i + 1 == count ? n.high : n.mu[order[i + 1]]) - here;
      // The ends of the range are no neighbours once there are two observations.
      n.sigma[order[i]] = count < 2        ? std::max(left, right)
                          : i == 0         ? right
                          : i + 1 == count ? left
                                           : std::max(left, right);
    }
  }
  for (double& sigma : n.sigma) sigma = std::min(std::max(sigma, least_sigma(range, kernels_)), range);
  n.mu.push_back(0.5 * (n.low + n.high));
  n.sigma.push_back(range);

  if (d.step != 0) {
    std::map<std::pair<double, double>, uint32_t> known;
    for (size_t k = 0; k < kernels_; ++k) {
      const auto [at, added] = known.try_emplace({n.mu[k], n.sigma[k]}, static_cast<uint32_t>(known.size()));
      if (added) {
        n.mu_of.push_back(n.mu[k]);
        n.sigma_of.push_back(n.sigma[k]);
      }
      n.group.push_back(at->second);
    }
    for (size_t g = 0; g < n.mu_of.size(); ++g)
      n.log_norm.push_back(
          normal_log_mass((n.low - n.mu_of[g]) / n.sigma_of[g], (n.high - n.mu_of[g]) / n.sigma_of[g]));
  } else {
    for (double sigma : n.sigma) n.inverse_sigma.push_back(1 / sigma);
    for (size_t k = 0; k < kernels_; ++k)
      n.log_norm.push_back(normal_log_mass((n.low - n.mu[k]) / n.sigma[k], (n.high - n.mu[k]) / n.sigma[k]) +
                           std::log(n.sigma[k]) + kLogRoot2Pi);
  }
}

Columns ParzenEstimator::sample(Philox& rng, size_t count) const {
  std::vector<size_t> kernel(count);
  for (size_t& k : kernel) {
    const auto at = std::ranges::upper_bound(cumulative_, rng.uniform());
    k = std::min(static_cast<size_t>(at - cumulative_.begin()), kernels_ - 1);
  }
  Columns points;
  for (const Dimension& dimension : dimensions_) {
    std::vector<double>& column = points.emplace_back();
    const Distribution& d = *dimension.distribution;
    for (size_t k : kernel) {
      const double u = rng.uniform();
      if (d.is_category()) {
        const Category& c = dimension.category;
        const bool prior = k + 1 == kernels_;
        double sum = 0;
        size_t choice = 0;
        for (; choice + 1 < c.choices; ++choice) {
          sum += prior ? c.prior : c.observed[k] == choice ? c.hit : c.miss;
          if (u < sum) break;
        }
        column.push_back(static_cast<double>(choice));
        continue;
      }
      const Normal& n = dimension.normal;
      const double mu = n.mu[k], sigma = n.sigma[k];
      double x = mu + sigma * truncated_normal(u, (n.low - mu) / sigma, (n.high - mu) / sigma);
      x = std::clamp(x, n.low, n.high);
      if (d.log) x = std::exp(x);
      if (d.step != 0) x = d.value_at(std::clamp<int64_t>(std::llround((x - d.low) / d.step), 0, d.size() - 1));
      column.push_back(std::clamp(x, d.low, d.high));
    }
  }
  return points;
}

// Of one parameter alone components of equal choice are one: their weights are summed first.
std::vector<double> ParzenEstimator::category_log_pdf(const Category& c, std::span<const double> points) const {
  std::vector<double> weight(c.choices);
  for (size_t k = 0; k + 1 < kernels_; ++k) weight[c.observed[k]] += weights_[k];
  double all = 0;
  for (double w : weight) all += w;
  std::vector<double> logs(c.choices);
  for (size_t i = 0; i < c.choices; ++i)
    logs[i] = std::log(weight[i] * c.hit + (all - weight[i]) * c.miss + weights_.back() * c.prior);
  std::vector<double> result;
  for (double point : points) result.push_back(logs[static_cast<size_t>(point)]);
  return result;
}

void ParzenEstimator::add_category(const Category& c, size_t choice, std::span<double> sums) const {
  const double more = std::log(c.hit) - std::log(c.miss);  // log(miss) of all is added once, by log_pdf
  for (uint32_t k : c.at[choice]) sums[k] += more;
}

// Masses of steps depend on the value and on the kernel's mu and sigma alone, of which there are few.
void ParzenEstimator::add_discrete(const Dimension& dimension, std::span<const double> points,
                                   std::vector<std::vector<double>>& sums) const {
  const Distribution& d = *dimension.distribution;
  const Normal& n = dimension.normal;
  std::map<double, std::vector<double>> by_value;
  for (size_t p = 0; p < points.size(); ++p) {
    std::vector<double>& logs = by_value[points[p]];
    if (logs.empty()) {
      const double below = points[p] - d.step / 2, above = points[p] + d.step / 2;
      const double left = d.log ? std::log(below) : below, right = d.log ? std::log(above) : above;
      for (size_t g = 0; g < n.mu_of.size(); ++g)
        logs.push_back(normal_log_mass((left - n.mu_of[g]) / n.sigma_of[g], (right - n.mu_of[g]) / n.sigma_of[g]) -
                       n.log_norm[g]);
    }
    for (size_t k = 0; k < kernels_; ++k) sums[p][k] += logs[n.group[k]];
  }
}

std::vector<double> ParzenEstimator::log_pdf(const Columns& points) const {
  if (dimensions_.size() == 1 && dimensions_[0].distribution->is_category())
    return category_log_pdf(dimensions_[0].category, points[0]);
  const size_t count = points[0].size();
  std::vector<double> start(kernels_);
  double miss = 0, prior = 0;
  for (const Dimension& dimension : dimensions_)
    if (dimension.distribution->is_category()) {
      miss += std::log(dimension.category.miss);
      prior += std::log(dimension.category.prior);
    }
  for (size_t k = 0; k < kernels_; ++k) start[k] = std::log(weights_[k]) + (k + 1 == kernels_ ? prior : miss);
  std::vector<std::vector<double>> sums(count, start);
  for (size_t i = 0; i < dimensions_.size(); ++i) {
    const Dimension& dimension = dimensions_[i];
    if (dimension.distribution->is_category()) {
      for (size_t p = 0; p < count; ++p) add_category(dimension.category, static_cast<size_t>(points[i][p]), sums[p]);
    } else if (dimension.distribution->step != 0) {
      add_discrete(dimension, points[i], sums);
    } else {
      const Normal& n = dimension.normal;
      for (size_t p = 0; p < count; ++p) {
        const double x = dimension.distribution->log ? std::log(points[i][p]) : points[i][p];
        for (size_t k = 0; k < kernels_; ++k) {
          const double z = (x - n.mu[k]) * n.inverse_sigma[k];
          sums[p][k] -= 0.5 * z * z + n.log_norm[k];
        }
      }
    }
  }
  std::vector<double> result;
  for (const std::vector<double>& terms : sums) result.push_back(log_sum(terms));
  return result;
}

}  // namespace hone
