// How far gradients by rows in generated f32 code may lie from the reference: the ops of ops/softmax_gradient.cc and
// ops/norm_gradient.cc, operation by operation.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "expr/expr.h"
#include "tests/support/bound.h"

namespace hone::test {

// Elements of a row, and how far each may be off.
struct ErrorRow {
  std::vector<double> value, error;
  size_t size() const { return value.size(); }
};

// A sum of terms, each of which is rounded `roundings` times before it is added.
struct ErrorSum {
  double value = 0, error = 0, magnitude = 0;
  void add(double term, double off) { value += term, error += off, magnitude += std::abs(term) + off; }
  double bound(size_t terms, int roundings) const {
    return error + (static_cast<double>(terms) + roundings) * kEpsF32 * magnitude;
  }
};

inline double product_error(double a, double a_error, double b, double b_error) {
  return std::abs(a) * b_error + std::abs(b) * a_error + a_error * b_error;
}

// y (d - sum(y d))
inline std::vector<double> softmax_gradient_bound(const ErrorRow& y, const ErrorRow& d) {
  ErrorSum sum;
  for (size_t i = 0; i < y.size(); ++i)
    sum.add(y.value[i] * d.value[i], product_error(y.value[i], y.error[i], d.value[i], d.error[i]));
  const double sum_error = sum.bound(y.size(), 1);
  std::vector<double> out;
  for (size_t i = 0; i < y.size(); ++i) {
    const double rest = d.value[i] - sum.value;
    const double rest_error =
        d.error[i] + sum_error + 2 * kEpsF32 * (std::abs(d.value[i]) + std::abs(sum.value) + d.error[i] + sum_error);
    out.push_back((1 + 2 * kEpsF32) * product_error(y.value[i], y.error[i], rest, rest_error) +
                  2 * kEpsF32 * std::abs(y.value[i] * rest));
  }
  return out;
}

// d - exp(y) sum(d): exp is off by 4 ulp, of 2 unit roundoffs each.
inline std::vector<double> log_softmax_gradient_bound(const ErrorRow& y, const ErrorRow& d) {
  ErrorSum sum;
  for (size_t i = 0; i < d.size(); ++i) sum.add(d.value[i], d.error[i]);
  const double sum_error = sum.bound(d.size(), 0);
  std::vector<double> out;
  for (size_t i = 0; i < y.size(); ++i) {
    const double weight = std::exp(y.value[i]),
                 weight_error = weight * (std::expm1(y.error[i]) + 2 * kMaxUlpF32 * kEpsF32);
    const double taken = product_error(weight, weight_error, sum.value, sum_error);
    out.push_back(d.error[i] + taken +
                  4 * kEpsF32 * (std::abs(d.value[i]) + d.error[i] + std::abs(weight * sum.value) + taken));
  }
  return out;
}

struct NormKind {
  bool centred, l2;  // layer_norm; l2_normalise
  double epsilon;
};

// Less its mean; a row of one element is its own mean, exactly.
inline ErrorRow centred_row(const ErrorRow& x) {
  if (x.size() == 1) return {{0}, {0}};
  const auto n = static_cast<double>(x.size());
  ErrorSum sum;
  for (size_t i = 0; i < x.size(); ++i) sum.add(x.value[i], x.error[i]);
  const double mean = sum.value / n, mean_error = sum.bound(x.size(), 3) / n;
  ErrorRow out;
  for (size_t i = 0; i < x.size(); ++i) {
    const double value = x.value[i] - mean, error = x.error[i] + mean_error;
    out.value.push_back(value);
    out.error.push_back(value == 0 && error == 0 ? 0 : error + 2 * kEpsF32 * (std::abs(value) + error));
  }
  return out;
}

// r (h - k c): c is x, h is d * weight, less their means in layer_norm; k = r^2 mean(h c), or sum(h c) / sum(c^2).
inline std::vector<double> norm_gradient_bound(const ErrorRow& x, const ErrorRow& d, const ErrorRow& weight,
                                               const NormKind& kind) {
  const size_t n = x.size();
  ErrorRow g = d;
  for (size_t i = 0; i < n && weight.size() > 0; ++i) {
    const double product = std::abs(d.value[i] * weight.value[i]);
    g.error[i] = product_error(d.value[i], d.error[i], weight.value[i], weight.error[i]) + 2 * kEpsF32 * product;
    g.value[i] = d.value[i] * weight.value[i];
  }
  const ErrorRow c = kind.centred ? centred_row(x) : x, h = kind.centred ? centred_row(g) : g;
  ErrorSum squares, along;
  for (size_t i = 0; i < n; ++i) {
    squares.add(c.value[i] * c.value[i], product_error(c.value[i], c.error[i], c.value[i], c.error[i]));
    along.add(h.value[i] * c.value[i], product_error(h.value[i], h.error[i], c.value[i], c.error[i]));
  }
  const double parts = kind.l2 ? 1 : static_cast<double>(n);
  const double q =
      kind.l2 ? std::max(squares.value, kind.epsilon * kind.epsilon) : squares.value / parts + kind.epsilon;
  const double q_error = squares.bound(n, 1) / parts + 4 * kEpsF32 * q;
  if (q_error >= q) return std::vector<double>(n, std::numeric_limits<double>::infinity());
  const double r = 1 / std::sqrt(q), r_relative = 1 / std::sqrt(1 - q_error / q) - 1 + 6 * kEpsF32;
  const double k = kind.l2 && squares.value <= q && q == kind.epsilon * kind.epsilon ? 0 : along.value / parts / q;
  const double k_relative = 1 / (1 - q_error / q) - 1 + 8 * kEpsF32;
  const double k_error = std::abs(k) * k_relative + along.bound(n, 1) / parts / q * (1 + k_relative);
  std::vector<double> out;
  for (size_t i = 0; i < n; ++i) {
    const double inner = h.value[i] - k * c.value[i];
    const double inner_error = h.error[i] + product_error(k, k_error, c.value[i], c.error[i]) +
                               4 * kEpsF32 * (std::abs(h.value[i]) + std::abs(k * c.value[i]));
    out.push_back(product_error(r, r * r_relative, inner, inner_error) +
                  2 * kEpsF32 * r * (std::abs(inner) + inner_error));
  }
  return out;
}

}  // namespace hone::test
