// From values to places along an axis, and the round values that get a tick.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/record.h"

namespace hone {

class AxisScale {
 public:
  // Covers `values` with some air, from pixel `begin` to pixel `end` (end < begin: upwards). With `from_zero`, 0 is
  // included.
  AxisScale(const Axis& axis, std::span<const double> values, double begin, double end, bool from_zero = false);

  double place(double value) const;
  const std::vector<double>& ticks() const { return ticks_; }  // inside the range, ascending
  std::string tick_text(double tick) const;                    // digits as the distance of the ticks needs
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  bool logarithmic_;
  double begin_, end_, low_ = 0, high_ = 1;
  std::vector<double> ticks_;
};

}  // namespace hone
