// How values between the elements of a plane are weighted, by the distance to an element.
#pragma once

#include <algorithm>
#include <cmath>

namespace hone {

inline double linear_weight(double distance) { return std::max(1 - std::abs(distance), 0.0); }

// Keys, "Cubic convolution interpolation for digital image processing" (1981); a is -0.5 in the paper, -0.75 in many
// image libraries.
inline double cubic_weight(double distance, double a) {
  const double d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

}  // namespace hone
