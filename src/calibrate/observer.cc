#include "calibrate/observer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "formats/learned_scale.h"

namespace hone {
namespace {

ValueRange range_of(std::span<const float> values) {
  ValueRange range;
  for (float v : values) range.low = std::min(range.low, v), range.high = std::max(range.high, v);
  return range;
}

class MinMax : public Observer {
 public:
  void see(std::span<const float> batch) override {
    const ValueRange own = range_of(batch);
    seen_.low = std::min(seen_.low, own.low), seen_.high = std::max(seen_.high, own.high);
  }
  ValueRange range() const override { return seen_; }

 private:
  ValueRange seen_;
};

// Of the ranges of batches, a hundredth of the way to each: Jacob et al., "Quantization and training of neural networks
// for efficient integer-arithmetic-only inference" (2018).
class MovingAverage : public Observer {
 public:
  void see(std::span<const float> batch) override {
    constexpr float kStep = 0.01f;
    const ValueRange own = range_of(batch);
    if (is_first_) seen_ = own;
    else seen_.low += kStep * (own.low - seen_.low), seen_.high += kStep * (own.high - seen_.high);
    is_first_ = false;
  }
  ValueRange range() const override { return seen_; }

 private:
  ValueRange seen_;
  bool is_first_ = true;
};

// Counts in bins of equal width around 0. Bins double in width when a value lies beyond them, so that what was counted
// stays counted exactly, and the order of batches changes nothing.
class Histogram {
 public:
  void add(std::span<const float> values) {
    for (float v : values) {
      int exponent = 0;
      std::frexp(v, &exponent);
      if (v != 0 && (count_ == zeros_ || exponent > exponent_)) widen(exponent);
      ++counts_[v == 0 ? kBins / 2 : bin_of(v)], ++count_, zeros_ += v == 0;
      range_.low = std::min(range_.low, v), range_.high = std::max(range_.high, v);
    }
  }

  const ValueRange& range() const { return range_; }
  int64_t count() const { return count_; }
  // fn(lower end, upper end, count) of each bin that is not empty, ascending.
  template <class Fn>
  void for_each(Fn fn) const {
    for (size_t i = 0; i < kBins; ++i)
      if (counts_[i] > 0) fn(end_of(i), end_of(i + 1), counts_[i]);
  }

 private:
  static constexpr size_t kBins = 4096;

  size_t bin_of(float v) const {  // |v| < 2^exponent_
    return static_cast<size_t>(std::floor(std::ldexp(double{v}, 11 - exponent_)) + double{kBins / 2});
  }
  double end_of(size_t i) const { return std::ldexp(static_cast<double>(i) - kBins / 2, exponent_ - 11); }

  // Zeros alone stay where they are, in the bin that begins at 0, whatever the width.
  void widen(int exponent) {
    for (; count_ > zeros_ && exponent_ < exponent; ++exponent_) {
      std::vector<int64_t> wider(kBins);
      for (size_t i = 0; i < kBins; ++i) wider[kBins / 4 + i / 2] += counts_[i];
      counts_ = std::move(wider);
    }
    exponent_ = exponent;
  }

  std::vector<int64_t> counts_ = std::vector<int64_t>(kBins);
  int exponent_ = 0;  // bins cover [-2^exponent_, 2^exponent_)
  int64_t count_ = 0, zeros_ = 0;
  ValueRange range_;
};

class OfHistogram : public Observer {
 public:
  explicit OfHistogram(const Format& format) : format_(format) {}
  void see(std::span<const float> batch) override { histogram_.add(batch); }

 protected:
  const Format format_;
  Histogram histogram_;
};

// All but five of 10^5 values at either end.
class Percentile : public OfHistogram {
 public:
  using OfHistogram::OfHistogram;
  ValueRange range() const override {
    const double beyond = 5e-5 * static_cast<double>(histogram_.count());
    const ValueRange whole = histogram_.range();
    double below = 0, low = 0, high = 0;
    bool has_low = false;
    histogram_.for_each([&](double first, double last, int64_t count) {
      below += static_cast<double>(count);
      if (below > beyond && !has_low) low = first, has_low = true;
      if (below - static_cast<double>(count) < static_cast<double>(histogram_.count()) - beyond) high = last;
    });
    return {std::clamp(static_cast<float>(low), whole.low, 0.0f),
            std::clamp(static_cast<float>(high), 0.0f, whole.high)};
  }
};

// The share of the whole range, in hundredths, that `loss` finds best; of equal ones the largest.
class BestShare : public OfHistogram {
 public:
  using OfHistogram::OfHistogram;
  ValueRange range() const override {
    std::vector<float> centres;
    std::vector<double> counts;
    const ValueRange whole = histogram_.range();
    histogram_.for_each([&](double first, double last, int64_t count) {
      centres.push_back(std::clamp(static_cast<float>((first + last) / 2), whole.low, whole.high));
      counts.push_back(static_cast<double>(count));
    });
    ValueRange best = whole;
    double smallest = std::numeric_limits<double>::infinity();
    for (int share = 100; share >= 10; --share) {
      const float part = static_cast<float>(share) / 100;
      const ValueRange range{whole.low * part, whole.high * part};
      const float ends[] = {range.low, range.high};
      const int64_t shape[] = {2};
      LearnedValues chosen = chosen_by_format(format_, shape, ends);
      chosen.learned.resize(centres.size(), chosen.learned[0]);
      if (!chosen.zero_points.empty()) chosen.zero_points.resize(centres.size(), chosen.zero_points[0]);
      const double found = loss(centres, counts, rounded(format_, centres, chosen), range);
      if (found < smallest) smallest = found, best = range;
    }
    return best;
  }

 protected:
  virtual double loss(std::span<const float> values, std::span<const double> counts, std::span<const float> rounded,
                      ValueRange range) const = 0;
};

class Mse : public BestShare {
 public:
  using BestShare::BestShare;

 protected:
  double loss(std::span<const float> values, std::span<const double> counts, std::span<const float> rounded,
              ValueRange) const override {
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const double error = double{values[i]} - double{rounded[i]};
      sum += counts[i] * error * error;
    }
    return sum;
  }
};

// Kullback-Leibler divergence of what rounding leaves from what there was: Migacz, "8-bit inference with TensorRT"
// (2017). What lies beyond the range counts with the bins next to it before, and not at all after.
class Entropy : public BestShare {
 public:
  using BestShare::BestShare;

 protected:
  double loss(std::span<const float> values, std::span<const double> counts, std::span<const float> rounded,
              ValueRange range) const override {
    struct Level {
      double count = 0, bins = 0;
    };
    std::map<float, Level> levels;
    const auto is_within = [&](size_t i) { return values[i] >= range.low && values[i] <= range.high; };
    double all = 0, within = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      all += counts[i];
      if (!is_within(i)) continue;
      within += counts[i];
      levels[rounded[i]].count += counts[i], levels[rounded[i]].bins += 1;
    }
    if (within == 0) return std::numeric_limits<double>::infinity();
    // Values ascend: those within the range are a run of them.
    size_t first = 0, end = values.size();
    while (!is_within(first)) ++first;
    while (!is_within(end - 1)) --end;
    std::vector<double> clipped(counts.begin(), counts.end());
    for (size_t i = 0; i < first; ++i) clipped[first] += counts[i];
    for (size_t i = end; i < values.size(); ++i) clipped[end - 1] += counts[i];
    double divergence = 0;
    for (size_t i = first; i < end; ++i) {
      const Level& level = levels[rounded[i]];
      const double p = clipped[i] / all, q = level.count / level.bins / within;
      divergence += p * std::log(p / q);
    }
    return divergence;
  }
};

template <class T>
std::unique_ptr<Observer> make(const Format& format) {
  if constexpr (std::is_constructible_v<T, const Format&>) return std::make_unique<T>(format);
  else return std::make_unique<T>();
}

constexpr ObserverDef kObservers[] = {
    {"min-max", "the smallest and the largest value", make<MinMax>},
    {"moving-average", "those of each batch, averaged: the range moves a hundredth of the way to each",
     make<MovingAverage>},
    {"percentile", "all values but five of 10^5 at either end", make<Percentile>},
    {"mse", "the share of min-max that is rounded with the smallest squared error", make<Mse>},
    {"entropy", "the share of min-max whose rounding keeps most of the distribution (Kullback-Leibler)", make<Entropy>},
};

}  // namespace

std::span<const ObserverDef> observers() { return kObservers; }

std::unique_ptr<Observer> make_observer(std::string_view name, const Format& format) {
  std::vector<std::string> names;
  for (const ObserverDef& def : kObservers) {
    if (def.name == name) return def.make(format);
    names.emplace_back(def.name);
  }
  fail("unknown observer {}; known: {}{}", name, fmt::join(names, ", "), did_you_mean(std::string(name), names));
}

}  // namespace hone
