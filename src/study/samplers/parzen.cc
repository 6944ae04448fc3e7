#include "study/samplers/parzen.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.h"
#include "study/samplers/truncated_normal.h"

namespace hone {
namespace {

constexpr double kPriorWeight = 1;
constexpr double kLogRoot2Pi = 0.91893853320467274178;

double log_sum(std::span<const double> terms) {
  const double most = *std::ranges::max_element(terms);
  if (std::isinf(most)) return most;
  double sum = 0;
  for (double term : terms)
    if (term - most > -50) sum += std::exp(term - most);  // what is smaller changes nothing: exp(-50) = 2e-22
  return most + std::log(sum);
}

// As a parameter's kernels have its values.
std::vector<double> inside_kernels(const Distribution& distribution, std::span<const double> points) {
  std::vector<double> xs(points.begin(), points.end());
  if (distribution.log)
    for (double& x : xs) x = std::log(x);
  return xs;
}

// lowered[k] = start[k] - the sum over the numbers of z²/2 at point p, of each kernel as if it were plain. Written in
// steps of a fixed size, of which compilers make vectors.
void lower(const std::vector<double>& start, std::span<const ContinuousKernels* const> numbers, const Columns& xs,
           size_t p, std::vector<double>& lowered) {
  constexpr size_t kStep = 8;
  const size_t count = start.size();
  for (size_t k = 0; k < count; k += kStep) {
    double sums[kStep] = {};
    const size_t steps = std::min(kStep, count - k);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double x = xs[i][p], scale = 1 / numbers[i]->plain_sigma();
      const double* mu = numbers[i]->mu().data() + k;
      if (steps == kStep) {
        for (size_t j = 0; j < kStep; ++j) {
          const double z = (x - mu[j]) * scale;
          sums[j] += z * z;
        }
      } else {
        for (size_t j = 0; j < steps; ++j) {
          const double z = (x - mu[j]) * scale;
          sums[j] += z * z;
        }
      }
    }
    for (size_t j = 0; j < steps; ++j) lowered[k + j] = start[k + j] - 0.5 * sums[j];
  }
}

}  // namespace

std::vector<double> ParzenEstimator::default_weights(size_t count) {
  std::vector<double> weights(count, 1.0);
  if (count <= 25) return weights;
  const size_t ramp = count - 25;
  const double first = 1.0 / static_cast<double>(count);
  const double step = ramp == 1 ? 0 : (1 - first) / static_cast<double>(ramp - 1);
  for (size_t i = 0; i < ramp; ++i) weights[i] = first + static_cast<double>(i) * step;
  return weights;
}

ParzenEstimator::ParzenEstimator(std::span<const DistributionPtr> space, Columns observations, Bandwidth bandwidth,
                                 std::vector<double> weights) {
  CHECK(!space.empty() && observations.size() == space.size());
  const size_t count = observations[0].size();
  kernels_ = count + 1;
  weights_ = weights.empty() ? default_weights(count) : std::move(weights);
  CHECK(weights_.size() == count);
  weights_.push_back(count == 0 ? 1.0 : kPriorWeight);
  const double scale = 1 / std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (double& weight : weights_) weight *= scale;
  for (size_t i = 0; i < space.size(); ++i) {
    Dimension& dimension = dimensions_.emplace_back();
    dimension.distribution = space[i];
    if (space[i]->is_category()) set_category(dimension, observations[i]);
  }
  for (size_t i = 0; i < space.size(); ++i)
    if (!space[i]->is_category()) set_numbers(dimensions_[i], std::move(observations[i]), bandwidth);
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

void ParzenEstimator::set_numbers(Dimension& dimension, std::vector<double> observations, Bandwidth bandwidth) const {
  const Distribution& d = *dimension.distribution;
  double low = d.low - d.step / 2, high = d.high + d.step / 2;
  if (d.log) {
    low = std::log(low);
    high = std::log(high);
    for (double& mu : observations) mu = std::log(mu);
  }
  const ContinuousKernels& kernels = dimension.kernels =
      ContinuousKernels(std::move(observations), low, high, bandwidth, dimensions_.size());
  if (d.step == 0) return;
  Discrete& groups = dimension.discrete;
  std::map<std::pair<double, double>, uint32_t> known;
  for (size_t k = 0; k < kernels_; ++k) {
    const std::pair shape(kernels.mu()[k], kernels.sigma(k));
    const auto [at, added] = known.try_emplace(shape, static_cast<uint32_t>(known.size()));
    if (added) {
      groups.mu.push_back(shape.first);
      groups.sigma.push_back(shape.second);
      groups.log_mass.push_back(kernels.log_mass(k));
    }
    groups.group.push_back(at->second);
  }
}

Columns ParzenEstimator::sample(Philox& rng, size_t count) const {
  std::vector<double> cumulative(kernels_);
  std::partial_sum(weights_.begin(), weights_.end(), cumulative.begin());
  std::vector<size_t> kernel(count);
  for (size_t& k : kernel) {
    const auto at = std::ranges::upper_bound(cumulative, rng.uniform());
    k = std::min(static_cast<size_t>(at - cumulative.begin()), kernels_ - 1);
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
      const ContinuousKernels& n = dimension.kernels;
      const double mu = n.mu()[k], sigma = n.sigma(k);
      double x = mu + sigma * truncated_normal(u, (n.low() - mu) / sigma, (n.high() - mu) / sigma);
      x = std::clamp(x, n.low(), n.high());
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
  const Discrete& n = dimension.discrete;
  std::map<double, std::vector<double>> by_value;
  for (size_t p = 0; p < points.size(); ++p) {
    std::vector<double>& logs = by_value[points[p]];
    if (logs.empty()) {
      const double below = points[p] - d.step / 2, above = points[p] + d.step / 2;
      const double left = d.log ? std::log(below) : below, right = d.log ? std::log(above) : above;
      for (size_t g = 0; g < n.mu.size(); ++g)
        logs.push_back(normal_log_mass((left - n.mu[g]) / n.sigma[g], (right - n.mu[g]) / n.sigma[g]) - n.log_mass[g]);
    }
    for (size_t k = 0; k < kernels_; ++k) sums[p][k] += logs[n.group[k]];
  }
}

std::vector<double> ParzenEstimator::log_pdf(const Columns& points) const {
  const Dimension& first = dimensions_[0];
  if (dimensions_.size() == 1 && first.distribution->is_category()) return category_log_pdf(first.category, points[0]);
  if (dimensions_.size() == 1 && first.is_continuous())
    return first.kernels.log_pdf(weights_, inside_kernels(*first.distribution, points[0]));
  // What does not depend on the point; then categories and steps, which are looked up.
  std::vector<double> start(kernels_);
  double miss = 0, prior = 0;
  for (const Dimension& dimension : dimensions_)
    if (dimension.distribution->is_category()) {
      miss += std::log(dimension.category.miss);
      prior += std::log(dimension.category.prior);
    }
  for (size_t k = 0; k < kernels_; ++k) start[k] = std::log(weights_[k]) + (k + 1 == kernels_ ? prior : miss);
  if (std::ranges::all_of(dimensions_, &Dimension::is_continuous)) return joint_log_pdf({&start, 1}, points);
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
  return joint_log_pdf(sums, points);
}

// What continuous parameters add to terms that are there (one list for all points, or one for each), and the sums. Each
// parameter lowers a kernel's term further, most of them soon to nothing beside the prior's: after the first four
// parameters only those kernels are gone on with that still count.
std::vector<double> ParzenEstimator::joint_log_pdf(std::span<const std::vector<double>> terms,
                                                   const Columns& points) const {
  std::vector<const ContinuousKernels*> numbers;
  Columns xs;
  for (size_t i = 0; i < dimensions_.size(); ++i) {
    if (!dimensions_[i].is_continuous()) continue;
    numbers.push_back(&dimensions_[i].kernels);
    xs.push_back(inside_kernels(*dimensions_[i].distribution, points[i]));
  }
  std::vector<double> result;
  if (numbers.empty()) {
    for (const std::vector<double>& each : terms) result.push_back(log_sum(each));
    return result;
  }
  // Kernels that are plain in all numbers have one factor before their exponentials but for the mass out of the range,
  // which is less than half for each number, and looked at where it may count. The others have factors of their own.
  const size_t count = numbers.size();
  double plain_factor = 0;
  std::vector<double> plain_inverses;
  constexpr uint32_t kPlain = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> place(kernels_, kPlain);  // among the others; the prior is the first
  std::vector<uint32_t> others;
  const auto add_other = [&](uint32_t k) {
    if (place[k] != kPlain) return;
    place[k] = static_cast<uint32_t>(others.size());
    others.push_back(k);
  };
  add_other(static_cast<uint32_t>(kernels_ - 1));
  for (const ContinuousKernels* n : numbers) {
    plain_factor -= std::log(n->plain_sigma()) + kLogRoot2Pi;
    plain_inverses.push_back(1 / n->plain_sigma());
    for (const auto& [k, sigma] : n->others()) add_other(k);
  }
  std::vector<double> mass(kernels_, std::numeric_limits<double>::quiet_NaN());  // logarithms, once they are asked for
  const auto mass_of = [&](size_t k) {
    if (std::isnan(mass[k])) {
      mass[k] = 0;
      for (const ContinuousKernels* n : numbers) mass[k] += n->log_mass(k);
    }
    return mass[k];
  };
  std::vector<double> factors(others.size(), plain_factor), inverses, centers;
  for (const uint32_t k : others) {  // each one's numbers beside each other
    inverses.insert(inverses.end(), plain_inverses.begin(), plain_inverses.end());
    for (const ContinuousKernels* n : numbers) centers.push_back(n->mu()[k]);
  }
  for (size_t i = 0; i < count; ++i) {
    const ContinuousKernels& n = *numbers[i];
    for (const auto& [k, sigma] : n.others()) {
      factors[place[k]] += std::log(n.plain_sigma() / sigma);
      inverses[place[k] * count + i] = 1 / sigma;
      if (n.mu()[k] < n.low() || n.mu()[k] > n.high()) mass_of(k);  // may be next to nothing
    }
  }
  const double most_of_masses = std::log(2.0) * static_cast<double>(count);
  const size_t at_once = std::min<size_t>(4, numbers.size());
  std::vector<double> lowered(kernels_);
  for (size_t p = 0; p < points[0].size(); ++p) {
    const std::vector<double>& start = terms[terms.size() == 1 ? 0 : p];
    std::vector<double> kept, at;
    for (const std::vector<double>& x : xs) at.push_back(x[p]);
    double least = -std::numeric_limits<double>::infinity();
    for (size_t o = 0; o < others.size(); ++o) {
      const uint32_t k = others[o];
      double term = start[k] + factors[o];
      const double* inverse = &inverses[o * count];
      const double* center = &centers[o * count];
      const double enough = least + (std::isnan(mass[k]) ? -most_of_masses : mass[k]);
      for (size_t i = 0; i < count && term >= enough; ++i) {
        const double z = (at[i] - center[i]) * inverse[i];
        term -= 0.5 * z * z;
      }
      if (term < enough) continue;
      kept.push_back(term - mass_of(k));
      if (o == 0) least = kept[0] - 50;  // exp(-50) = 2e-22 beside the prior's term
    }
    least -= plain_factor + most_of_masses;
    lower(start, {numbers.data(), at_once}, xs, p, lowered);
    for (size_t k = 0; k < kernels_; ++k) {
      double term = lowered[k];
      if (!(term >= least) || place[k] != kPlain) continue;
      for (size_t i = at_once; i < count && term >= least; ++i) {
        const double z = (at[i] - numbers[i]->mu()[k]) * plain_inverses[i];
        term -= 0.5 * z * z;
      }
      if (term < least) continue;
      kept.push_back(term + plain_factor - mass_of(k));
    }
    result.push_back(log_sum(kept));
  }
  return result;
}

}  // namespace hone
