#include "report/axis_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/number_text.h"

namespace hone {
namespace {

// Values nearer to each other than this share of them are drawn as equal: steps between them would be below what a
// double resolves.
constexpr double kNearlyEqual = 1e-9;
constexpr double kLeastPositive = 1e-300;  // of a logarithmic axis

// 1, 2 or 5 times a power of ten, so that about `wanted` steps fit into the range.
double round_step(double range, int wanted) {
  const double raw = range / wanted, power = std::pow(10, std::floor(std::log10(raw)));
  for (double multiple : {1.0, 2.0, 5.0})
    if (raw <= multiple * power) return multiple * power;
  return 10 * power;
}

std::vector<double> linear_ticks(double low, double high) {
  const double step = round_step(high - low, 6);
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) ticks.push_back(i * step);
  return ticks;
}

// Seven to a decade over little more than one, 1, 2, 5 up to four, powers of ten alone beyond.
std::vector<double> logarithmic_ticks(double low, double high) {
  std::vector<double> multiples{1};
  if (high / low < 1e4) multiples = {1, 2, 5};
  if (high / low < 20) multiples = {1, 1.5, 2, 3, 4, 5, 7};
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10)
    for (double multiple : multiples)
      if (multiple * power >= low && multiple * power <= high) ticks.push_back(multiple * power);
  return ticks;
}

}  // namespace

AxisScale::AxisScale(const Axis& axis, std::span<const double> values, double begin, double end, bool from_zero)
    : logarithmic_(axis.logarithmic), begin_(begin), end_(end) {
  bool first = !from_zero;
  if (from_zero) low_ = high_ = 0;
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    low_ = first ? v : std::min(low_, v), high_ = first ? v : std::max(high_, v);
    first = false;
  }
  if (first) low_ = logarithmic_ ? 0.1 : 0, high_ = 1;
  if (logarithmic_) {
    low_ = std::clamp(low_, kLeastPositive, 1 / kLeastPositive), high_ = std::clamp(high_, low_, 1 / kLeastPositive);
    const double air = std::max(std::pow(high_ / low_, 0.08), 1.1);
    low_ = std::max(low_ / air, kLeastPositive), high_ = std::min(high_ * air, 1 / kLeastPositive);
    ticks_ = logarithmic_ticks(low_, high_);
  } else {
    const bool differ = high_ - low_ > kNearlyEqual * std::max(std::abs(low_), std::abs(high_));
    const double air = differ ? 0.08 * (high_ - low_) : high_ == 0 ? 1 : 0.1 * std::abs(high_);
    if (!from_zero || low_ < 0) low_ -= air;
    if (!from_zero || high_ > 0 || low_ == 0) high_ += air;
    ticks_ = linear_ticks(low_, high_);
  }
}

double AxisScale::place(double value) const {
  const double share = logarithmic_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
  return std::lerp(begin_, end_, share);
}

std::string AxisScale::tick_text(double tick) const {
  if (logarithmic_ || ticks_.size() < 2) return fmt::format("{:g}", tick);
  const double step = ticks_[1] - ticks_[0];
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
  return number_text(std::abs(tick) < step * 1e-6 ? 0 : tick,
                     decimals > 0 ? NumberStyle{NumberFormat::fixed, decimals} : NumberStyle{NumberFormat::integer});
}

}  // namespace hone
