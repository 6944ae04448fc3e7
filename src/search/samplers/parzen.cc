#include "search/samplers/parzen.h"

#include <algorithm>
#include <bit>
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

// Of each observation the larger of the distances to its neighbours; the ends of the range are no neighbours once there
// are two observations. Distances up to `least` come out as `least` or less, so that no order is needed: in each of
// some hundred buckets as wide as that, only the first and the last have a neighbour that is farther away.
void set_neighbour_sigmas(std::span<const double> mu, double low, double high, double least, std::span<double> sigma) {
  if (mu.size() == 1) sigma[0] = std::max(mu[0] - low, high - mu[0]);
  if (mu.size() < 2) return;
  const auto [smallest, largest] = std::ranges::minmax(mu);  // of a study whose ranges changed, not within [low, high]
  const double buckets = std::floor((largest - smallest) / least) + 1;
  if (!(buckets <= 4096)) {
    std::vector<uint32_t> order(mu.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](uint32_t i) { return std::pair(mu[i], i); });
    for (size_t i = 0; i + 1 < order.size(); ++i) {
      const double gap = mu[order[i + 1]] - mu[order[i]];
      sigma[order[i]] = std::max(sigma[order[i]], gap);
      sigma[order[i + 1]] = std::max(sigma[order[i + 1]], gap);
    }
    return;
  }
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  struct Ends {
    uint32_t first = kNone, last = kNone;
  };
  std::vector<Ends> ends(static_cast<size_t>(buckets));
  for (uint32_t i = 0; i < mu.size(); ++i) {
    Ends& bucket = ends[std::min(static_cast<size_t>((mu[i] - smallest) / least), ends.size() - 1)];
    if (bucket.first == kNone || mu[i] < mu[bucket.first]) bucket.first = i;
    if (bucket.last == kNone || mu[i] >= mu[bucket.last]) bucket.last = i;
  }
  uint32_t before = kNone;
  for (const Ends& bucket : ends) {
    if (bucket.first == kNone) continue;
    if (before != kNone) {
      const double gap = mu[bucket.first] - mu[before];
      sigma[before] = std::max(sigma[before], gap);
      sigma[bucket.first] = std::max(sigma[bucket.first], gap);
    }
    before = bucket.last;
  }
}

// exp(x) for -700 < x <= 0 within 3e-13 of its value, in steps that a compiler makes vectors of: x is n log 2 + r with
// |r| <= 0.35, and a series up to the tenth power. The sum with kRound has n in its last bits, which become the
// exponent.
inline double exp_of_negative(double x) {
  constexpr double kRound = 6755399441055744.0, kLog2 = 0.693147180559945309417;  // 1.5 * 2^52
  const double shifted = x * (1 / kLog2) + kRound;
  const double r = x - (shifted - kRound) * kLog2;
  double sum = 1.0 / 3628800;
  for (const double c : {1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
    sum = sum * r + c;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(sum) + (std::bit_cast<uint64_t>(shifted) << 52));
}

constexpr size_t kLanes = 8;  // of sums that run beside each other

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
  n.least = least_sigma(range, kernels_);
  n.sigma.assign(count, 0);
  if (bandwidth == Bandwidth::scott) {
    const double exponent = -1.0 / static_cast<double>(dimensions_.size() + 4);
    std::ranges::fill(n.sigma, 0.2 * std::pow(static_cast<double>(std::max<size_t>(count, 1)), exponent) * range);
  } else {
    set_neighbour_sigmas(n.mu, n.low, n.high, n.least, n.sigma);
  }
  for (double& sigma : n.sigma) sigma = std::min(std::max(sigma, n.least), range);
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
      n.log_mass.push_back(
          normal_log_mass((n.low - n.mu_of[g]) / n.sigma_of[g], (n.high - n.mu_of[g]) / n.sigma_of[g]));
  } else {
    n.log_mass.reserve(kernels_);
    n.inverse_sigma.reserve(kernels_);
    for (size_t k = 0; k < kernels_; ++k) {
      const double inverse = n.inverse_sigma.emplace_back(1 / n.sigma[k]);
      n.log_mass.push_back(normal_log_mass((n.low - n.mu[k]) * inverse, (n.high - n.mu[k]) * inverse));
    }
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
                       n.log_mass[g]);
    }
    for (size_t k = 0; k < kernels_; ++k) sums[p][k] += logs[n.group[k]];
  }
}

// Of one continuous parameter alone densities are summed as they are: the prior, as wide as the range, keeps the sum
// far from 0, so that what is 9 standard deviations away (2.6e-18 of a bump's height) does not count. Nearly all bumps
// are least wide; sorted into buckets of that width, those that count for a point are its own bucket's and 10 to each
// side.
std::vector<double> ParzenEstimator::continuous_log_pdf(const Dimension& dimension,
                                                        std::span<const double> points) const {
  const Normal& n = dimension.normal;
  // Bumps around what is out of the range, which was another once, are high at its end though they are far away.
  const auto is_narrow = [&](size_t k) { return n.sigma[k] == n.least && n.log_mass[k] > -1; };
  constexpr double kReach = 9;
  constexpr int64_t kBuckets = 128;
  const auto bucket_of = [&](double value) {
    return static_cast<int64_t>(std::clamp((value - n.low) / n.least, -1.0, kBuckets - 2.0)) + 1;
  };
  std::vector<uint32_t> wide, starts(kBuckets + 1), bucket(kernels_);
  for (uint32_t k = 0; k < kernels_; ++k) {
    if (is_narrow(k)) ++starts[static_cast<size_t>(bucket[k] = static_cast<uint32_t>(bucket_of(n.mu[k]))) + 1];
    else wide.push_back(k);
  }
  // Each bucket is filled up to whole lanes with bumps of no height.
  for (size_t b = 0; b < kBuckets; ++b) starts[b + 1] = starts[b] + (starts[b + 1] + kLanes - 1) / kLanes * kLanes;
  std::vector<double> mu(starts.back()), heights(starts.back());
  const double height = std::exp(-kLogRoot2Pi) / n.least;
  std::vector<uint32_t> next(starts.begin(), starts.end() - 1);
  for (uint32_t k = 0; k < kernels_; ++k) {
    if (!is_narrow(k)) continue;
    const uint32_t at = next[bucket[k]]++;
    mu[at] = n.mu[k];
    heights[at] = weights_[k] * height * (n.log_mass[k] == 0 ? 1 : std::exp(-n.log_mass[k]));
  }
  std::vector<double> result;
  for (const double point : points) {
    const double x = dimension.distribution->log ? std::log(point) : point;
    double sum = 0;
    for (const uint32_t k : wide) {
      const double z = (x - n.mu[k]) * n.inverse_sigma[k];
      sum += weights_[k] * n.inverse_sigma[k] * std::exp(-0.5 * z * z - n.log_mass[k] - kLogRoot2Pi);
    }
    const auto first = static_cast<size_t>(bucket_of(x - (kReach + 1) * n.least));
    const auto last = static_cast<size_t>(bucket_of(x + (kReach + 1) * n.least));
    const double inverse = 1 / n.least;
    double sums[kLanes] = {};
    for (size_t i = starts[first]; i < starts[last + 1]; i += kLanes)
      for (size_t lane = 0; lane < kLanes; ++lane) {
        const double z = (x - mu[i + lane]) * inverse;
        sums[lane] += heights[i + lane] * exp_of_negative(std::max(-0.5 * z * z, -700.0));
      }
    for (const double part : sums) sum += part;
    result.push_back(std::log(sum));
  }
  return result;
}

std::vector<double> ParzenEstimator::log_pdf(const Columns& points) const {
  if (dimensions_.size() == 1 && dimensions_[0].distribution->is_category())
    return category_log_pdf(dimensions_[0].category, points[0]);
  if (dimensions_.size() == 1 && dimensions_[0].distribution->step == 0)
    return continuous_log_pdf(dimensions_[0], points[0]);
  // What of a kernel's term does not depend on the point.
  std::vector<double> start(kernels_);
  double miss = 0, prior = 0;
  for (const Dimension& dimension : dimensions_)
    if (dimension.distribution->is_category()) {
      miss += std::log(dimension.category.miss);
      prior += std::log(dimension.category.prior);
    }
  for (size_t k = 0; k < kernels_; ++k) start[k] = std::log(weights_[k]) + (k + 1 == kernels_ ? prior : miss);
  std::vector<size_t> continuous;
  for (size_t i = 0; i < dimensions_.size(); ++i) {
    const Dimension& dimension = dimensions_[i];
    if (dimension.distribution->is_category() || dimension.distribution->step != 0) continue;
    continuous.push_back(i);
    const Normal& n = dimension.normal;
    const double log_least = std::log(n.least);
    for (size_t k = 0; k < kernels_; ++k)
      start[k] -= n.log_mass[k] + kLogRoot2Pi + (n.sigma[k] == n.least ? log_least : std::log(n.sigma[k]));
  }
  std::vector<std::vector<double>> sums(points[0].size(), start);
  for (size_t i = 0; i < dimensions_.size(); ++i) {
    const Dimension& dimension = dimensions_[i];
    if (dimension.distribution->is_category()) {
      for (size_t p = 0; p < sums.size(); ++p)
        add_category(dimension.category, static_cast<size_t>(points[i][p]), sums[p]);
    } else if (dimension.distribution->step != 0) {
      add_discrete(dimension, points[i], sums);
    }
  }
  std::vector<double> result;
  for (size_t p = 0; p < sums.size(); ++p) {
    std::vector<double> x;
    for (size_t i : continuous) x.push_back(dimensions_[i].distribution->log ? std::log(points[i][p]) : points[i][p]);
    result.push_back(continuous.empty() ? log_sum(sums[p]) : log_sum(near_terms(sums[p], continuous, x)));
  }
  return result;
}

// Terms of the kernels that count at x: each continuous parameter lowers a term further, most of them soon to nothing
// beside the prior's. After the first four only those are gone on with that still count.
std::vector<double> ParzenEstimator::near_terms(std::span<double> terms, std::span<const size_t> continuous,
                                                std::span<const double> x) const {
  const auto less = [&](size_t i, size_t k) {
    const Normal& n = dimensions_[continuous[i]].normal;
    const double z = (x[i] - n.mu[k]) * n.inverse_sigma[k];
    return 0.5 * z * z;
  };
  std::vector<double> kept{terms.back()};
  for (size_t i = 0; i < x.size(); ++i) kept[0] -= less(i, kernels_ - 1);
  const double least = kept[0] - 50;  // exp(-50) = 2e-22
  const size_t at_once = std::min<size_t>(4, x.size());
  for (size_t i = 0; i < at_once; ++i) {
    const double* mu = dimensions_[continuous[i]].normal.mu.data();
    const double* inverse = dimensions_[continuous[i]].normal.inverse_sigma.data();
    for (size_t k = 0; k + 1 < kernels_; ++k) {
      const double z = (x[i] - mu[k]) * inverse[k];
      terms[k] -= 0.5 * z * z;
    }
  }
  for (size_t k = 0; k + 1 < kernels_; ++k) {
    double term = terms[k];
    for (size_t i = at_once; i < x.size() && term >= least; ++i) term -= less(i, k);
    if (term >= least) kept.push_back(term);
  }
  return kept;
}

}  // namespace hone
