#include "study/samplers/continuous_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "study/samplers/truncated_normal.h"

namespace hone {
namespace {

constexpr double kLogRoot2Pi = 0.91893853320467274178;

// Two numbers that go through the same instructions: what every x86-64 and Arm processor has.
using Lanes = double __attribute__((vector_size(16)));
using Bits = int64_t __attribute__((vector_size(16)));
constexpr size_t kLanes = 2;

Lanes both(double value) { return Lanes{value, value}; }
Lanes load(const double* at) {
  Lanes lanes;
  std::memcpy(&lanes, at, sizeof lanes);
  return lanes;
}

// exp(x) for x <= 0 within 1e-11 of its value, of less than -700 as of -700: x is n log 2 + r with |r| <= 0.35, and a
// series up to the ninth power. The sum with kRound has n in its last bits, which become the exponent.
Lanes exp_of_negative(Lanes x) {
  constexpr double kRound = 6755399441055744.0, kLog2 = 0.693147180559945309417;  // 1.5 * 2^52
  x = x < both(-700) ? both(-700) : x;
  const Lanes shifted = x * both(1 / kLog2) + both(kRound);
  const Lanes r = x - (shifted - both(kRound)) * both(kLog2);
  const auto series = [&](auto... c) {
    Lanes sum = both(0);
    ((sum = sum * r + both(c)), ...);
    return sum;
  };
  const Lanes sum =
      series(1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0);
  const Bits bits = std::bit_cast<Bits>(sum) + (std::bit_cast<Bits>(shifted) << 52);
  return std::bit_cast<Lanes>(bits);
}

}  // namespace

ContinuousKernels::ContinuousKernels(std::vector<double> observations, double low, double high, Bandwidth bandwidth,
                                     size_t dimensions)
    : low_(low), high_(high), mu_(std::move(observations)) {
  const size_t count = mu_.size();
  const double range = high - low;
  // What Optuna calls magic clipping: no bump is narrower than this share of the range, so that a few observations in
  // one place do not become the only place.
  const double least = range / std::min(100.0, static_cast<double>(count + 2));
  if (bandwidth == Bandwidth::scott) {
    const double exponent = -1.0 / static_cast<double>(dimensions + 4);
    const double scott = 0.2 * std::pow(static_cast<double>(std::max<size_t>(count, 1)), exponent) * range;
    plain_sigma_ = std::min(std::max(scott, least), range);
  } else {
    plain_sigma_ = least;
    if (count == 1) others_.emplace_back(0, std::min(std::max({mu_[0] - low, high - mu_[0], least}), range));
    else if (count > 1) set_neighbour_sigmas(least);
  }
  for (uint32_t k = 0; k < count; ++k)
    if (!(mu_[k] >= low && mu_[k] <= high)) others_.emplace_back(k, plain_sigma_);
  // Of several entries the widest: there is one for each neighbour that is far, and one for what is out of the range.
  std::ranges::sort(others_, [](const auto& a, const auto& b) {
    return std::pair(a.first, -a.second) < std::pair(b.first, -b.second);
  });
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  others_.erase(std::unique(others_.begin(), others_.end(), same), others_.end());
  others_.emplace_back(static_cast<uint32_t>(count), range);
  mu_.push_back(0.5 * (low + high));
}

// Of each observation the larger of the distances to its neighbours; the ends of the range are no neighbours once there
// are two observations. A distance up to `least` means plain, so that no order is needed: in each of some hundred
// buckets as wide as that, only the first and the last have a neighbour that is farther away.
void ContinuousKernels::set_neighbour_sigmas(double least) {
  const auto neighbours = [&](uint32_t left, uint32_t right) {
    const double gap = mu_[right] - mu_[left];
    if (gap <= least) return;
    for (const uint32_t k : {left, right}) others_.emplace_back(k, std::min(gap, high_ - low_));
  };
  const auto [smallest, largest] = std::ranges::minmax(mu_);  // of a study whose ranges changed, not within [low, high]
  const double buckets = std::floor((largest - smallest) / least) + 1;
  if (buckets <= 4096) {
    constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
    struct Ends {
      uint32_t first = kNone, last = kNone;
    };
    std::vector<Ends> ends(static_cast<size_t>(buckets) + 1);
    const double inverse = 1 / least;
    for (uint32_t i = 0; i < mu_.size(); ++i) {
      Ends& bucket = ends[static_cast<size_t>((mu_[i] - smallest) * inverse)];
      if (bucket.first == kNone || mu_[i] < mu_[bucket.first]) bucket.first = i;
      if (bucket.last == kNone || mu_[i] >= mu_[bucket.last]) bucket.last = i;
    }
    uint32_t before = kNone;
    for (const Ends& bucket : ends) {
      if (bucket.first == kNone) continue;
      if (before != kNone) neighbours(before, bucket.first);
      before = bucket.last;
    }
  } else {
    std::vector<uint32_t> order(mu_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](uint32_t i) { return std::pair(mu_[i], i); });
    for (size_t i = 0; i + 1 < order.size(); ++i) neighbours(order[i], order[i + 1]);
  }
}

double ContinuousKernels::sigma(size_t k) const {
  const auto at = std::ranges::lower_bound(others_, k, {}, [](const auto& other) { return other.first; });
  return at != others_.end() && at->first == k ? at->second : plain_sigma_;
}

double ContinuousKernels::log_mass(size_t k) const {
  const double s = sigma(k);
  return normal_log_mass((low_ - mu_[k]) / s, (high_ - mu_[k]) / s);
}

// Densities are summed as they are: the prior, as wide as the range, keeps the sum far from 0, so that what is 9
// standard deviations away (2.6e-18 of a bump's height) does not count. Sorted into buckets as wide as a plain bump,
// those that count at a point are its own bucket's and those of 10 to each side.
std::vector<double> ContinuousKernels::log_pdf(std::span<const double> weights, std::span<const double> xs) const {
  constexpr int kReach = 9;
  const double inverse = 1 / plain_sigma_;
  // Bucket 0 and the last one are for what a window reaches beyond the range.
  const auto buckets = static_cast<size_t>((high_ - low_) * inverse) + 3;
  const auto bucket_of = [&](double value) {
    return static_cast<size_t>(std::clamp((value - low_) * inverse + 1, 0.0, static_cast<double>(buckets - 1)));
  };
  constexpr uint16_t kOther = std::numeric_limits<uint16_t>::max();
  std::vector<uint16_t> bucket(size());
  for (const auto& [k, sigma] : others_) bucket[k] = kOther;
  std::vector<uint32_t> starts(buckets + 1);
  for (size_t k = 0; k < size(); ++k)
    if (bucket[k] != kOther) ++starts[(bucket[k] = static_cast<uint16_t>(bucket_of(mu_[k]))) + 1];
  // Each bucket is filled up to whole lanes with bumps of no height.
  for (size_t b = 0; b < buckets; ++b) starts[b + 1] = starts[b] + (starts[b + 1] + kLanes - 1) / kLanes * kLanes;
  std::vector<double> mu(starts.back()), heights(starts.back());
  std::vector<uint32_t> next(starts.begin(), starts.end() - 1);
  const double height = std::exp(-kLogRoot2Pi) * inverse;
  const double from_low = low_ + kReach * plain_sigma_, to_high = high_ - kReach * plain_sigma_;
  for (size_t k = 0; k < size(); ++k) {
    if (bucket[k] == kOther) continue;
    const uint32_t at = next[bucket[k]]++;
    mu[at] = mu_[k];
    heights[at] = weights[k] * height;
    if (mu_[k] < from_low || mu_[k] > to_high)
      heights[at] /= normal_mass((low_ - mu_[k]) * inverse, (high_ - mu_[k]) * inverse);
  }
  for (size_t b = 0; b < buckets; ++b)
    for (uint32_t at = next[b]; at < starts[b + 1]; ++at) mu[at] = mu[at - 1];
  struct Wide {
    double mu, inverse_sigma, log_height;
  };
  std::vector<Wide> wide;
  for (const auto& [k, sigma] : others_)
    wide.push_back({mu_[k], 1 / sigma, std::log(weights[k] / sigma) - log_mass(k) - kLogRoot2Pi});

  std::vector<double> result;
  for (const double x : xs) {
    double sum = 0;
    for (const Wide& bump : wide) {
      const double z = (x - bump.mu) * bump.inverse_sigma;
      sum += std::exp(bump.log_height - 0.5 * z * z);
    }
    Lanes sums = both(0);
    const size_t last = starts[bucket_of(x + (kReach + 1) * plain_sigma_) + 1];
    for (size_t i = starts[bucket_of(x - (kReach + 1) * plain_sigma_)]; i < last; i += kLanes) {
      const Lanes z = (both(x) - load(&mu[i])) * both(inverse);
      sums += load(&heights[i]) * exp_of_negative(both(-0.5) * z * z);
    }
    result.push_back(std::log(sum + sums[0] + sums[1]));
  }
  return result;
}

}  // namespace hone
