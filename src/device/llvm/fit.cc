#include "device/llvm/fit.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hone {

std::vector<double> fit_polynomial(const RealFunction& f, double lo, double hi, double center, int degree) {
  const size_t n = static_cast<size_t>(degree) + 1;
  std::vector<long double> node(n), newton(n);  // nodes relative to the center; divided differences
  for (size_t i = 0; i < n; ++i) {
    const long double angle =
        std::numbers::pi_v<long double> * static_cast<long double>(2 * i + 1) / static_cast<long double>(2 * n);
    const long double x = (lo + hi) / 2.0L + (hi - lo) / 2.0L * std::cos(angle);
    node[i] = x - center;
    newton[i] = f(x);
  }
  for (size_t order = 1; order < n; ++order)
    for (size_t i = n - 1; i >= order; --i) newton[i] = (newton[i] - newton[i - 1]) / (node[i] - node[i - order]);
  // Newton's form to powers: p := p * (t - node) + newton, from the highest difference down.
  std::vector<long double> power(n, 0);
  for (size_t i = n; i-- > 0;) {
    for (size_t k = n - 1; k > 0; --k) power[k] = power[k - 1] - power[k] * node[i];
    power[0] = newton[i] - power[0] * node[i];
  }
  return {power.begin(), power.end()};
}

std::vector<std::vector<float>> fit_pieces(const RealFunction& g, int pieces, int degree) {
  std::vector<std::vector<float>> table(static_cast<size_t>(degree) + 1);
  for (int i = 0; i < pieces; ++i) {
    const std::vector<double> c = fit_polynomial(g, std::max(0.0, i - 0.5), i + 1 < pieces ? i + 0.5 : i, i, degree);
    for (size_t k = 0; k < c.size(); ++k) table[k].push_back(static_cast<float>(c[k]));
  }
  return table;
}

}  // namespace hone
