#include "study/samplers/truncated_normal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace hone {
namespace {

constexpr double kRootHalf = std::numbers::sqrt2 / 2;
constexpr double kLogRoot2Pi = 0.91893853320467274178;

double cdf(double x) { return 0.5 * std::erfc(-x * kRootHalf); }

// log of erfc-like tail below -20, where erfc itself has left the range or its relative accuracy: the asymptotic series
// of Mills' ratio, whose terms fall below 1e-16 before they grow for |x| > 9.
double log_tail(double x) {
  const double inverse = 1 / (x * x);
  double term = 1, sum = 1;
  for (int k = 1; k < 20; ++k) {
    term *= -(2 * k - 1) * inverse;
    sum += term;
    if (std::abs(term) < 1e-17) break;
  }
  return -0.5 * x * x - std::log(-x) - kLogRoot2Pi + std::log(sum);
}

double mass_outside(double a, double b) {
  constexpr double kNothing = 9;  // standard deviations: 1e-19 lies beyond, which 1 does not feel
  return (a < -kNothing ? 0 : cdf(a)) + (b > kNothing ? 0 : cdf(-b));
}

}  // namespace

double normal_log_cdf(double x) {
  if (x < -20) return log_tail(x);
  if (x > 6) return -0.5 * std::erfc(x * kRootHalf);  // log(1 - q) = -q, as q² < 1e-18
  return std::log(cdf(x));
}

double normal_log_mass(double a, double b) {
  // Differences are taken where both terms are small, in the nearer tail.
  if (a > 0) return normal_log_mass(-b, -a);
  if (b <= 0) {
    const double high = normal_log_cdf(b), low = normal_log_cdf(a);
    return high + std::log1p(-std::exp(low - high));
  }
  const double outside = mass_outside(a, b);
  return outside == 0 ? 0 : std::log1p(-outside);
}

double normal_mass(double a, double b) { return 1 - mass_outside(a, b); }

// Acklam's rational approximation (relative error 1.15e-9), and one step of Halley's method, which leaves rounding.
double normal_quantile(double p) {
  if (p <= 0) return -std::numeric_limits<double>::infinity();
  if (p >= 1) return std::numeric_limits<double>::infinity();
  constexpr std::array a{-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                         1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array b{-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01,
                         -1.328068155288572e+01};
  constexpr std::array c{-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                         -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array d{7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
  const auto tail = [&](double q) {
    return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
           ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  };
  double x = 0;
  if (p < 0.02425) x = tail(std::sqrt(-2 * std::log(p)));
  else if (p > 1 - 0.02425) x = -tail(std::sqrt(-2 * std::log1p(-p)));
  else {
    const double q = p - 0.5, r = q * q;
    x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
        (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }
  const double error = cdf(x) - p;
  const double u = error * std::exp(x * x / 2 + kLogRoot2Pi);
  return x - u / (1 + x * u / 2);
}

double truncated_normal(double u, double a, double b) {
  if (a > 0) return -truncated_normal(1 - u, -b, -a);
  const double low = cdf(a), high = cdf(b);
  return std::clamp(normal_quantile(low + u * (high - low)), a, b);
}

}  // namespace hone
