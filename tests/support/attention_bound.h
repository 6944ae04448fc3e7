// How far attention and its gradients in generated f32 code may lie from the reference: the scores of one query, the
// weights that follow, and what is summed with them.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <numbers>

#include "tests/support/row_gradient_bound.h"

namespace hone::test {

// How much exp(s_t - most) / sum may err, relatively, when score t errs by error[t]: numerator and sum by e^(2D) with
// D the largest error, each exp by its own 4 ulp and the rounding of its argument (down to -104, below which the
// weight is no f32 number), the sum by n additions, the quotient by three roundings.
inline double relative_weight_error(const std::vector<double>& scores, const std::vector<double>& error) {
  const double most = *std::max_element(scores.begin(), scores.end());
  double worst = 0;
  for (size_t t = 0; t < scores.size(); ++t)
    if (scores[t] > most - 104) worst = std::max(worst, error[t]);
  return std::expm1(2 * (worst + 104 * kEpsF32)) +
         (2 * 2 * kMaxUlpF32 + static_cast<double>(scores.size()) + 6) * kEpsF32;
}

// How much more a weight errs, relatively, where it is rounded to bf16 before it meets v: by that, and by the powers of
// 2 that are then computed from four terms of their series: (ln 2 / 2)^4 / 4! / 2^3 for the best polynomial and at most
// twice that for the one through the Chebyshev nodes, in the weight and in the sum of all.
inline double rounded_weight_error() { return kEpsBf16 + 2 * 2 * std::pow(std::numbers::ln2 / 2, 4) / 24 / 8; }

inline std::vector<double> weights_of(const std::vector<double>& scores) {
  const double most = *std::max_element(scores.begin(), scores.end());
  std::vector<double> weights;
  double sum = 0;
  for (double s : scores) sum += weights.emplace_back(std::exp(s - most));
  for (double& w : weights) w /= sum;
  return weights;
}

struct AttentionBound {
  ErrorRow q, k, v, mask;  // the mask may be empty
  std::vector<int64_t> mask_strides = {0, 0, 0, 0};
  int64_t batches, queries, keys, heads, kv_heads, columns, value_columns;
  double scale;
  double softcap = 0;
  bool is_chosen = false;  // the mask says which keys are seen
  bool blind_is_zero = false;
  bool rounds_weights = false;                                              // to bf16
  int64_t first = 0, before = int64_t{1} << 40, behind = int64_t{1} << 40;  // as in ops/attention.cc
  ErrorRow sinks = {};

  using Errors = std::vector<double>;
  size_t query(int64_t b, int64_t s, int64_t h) const { return static_cast<size_t>((b * queries + s) * heads + h); }
  size_t key(int64_t b, int64_t t, int64_t h) const {
    return static_cast<size_t>((b * keys + t) * kv_heads + h / (heads / kv_heads));
  }

  struct Weights {
    Errors value;
    double relative;
    double error(size_t t) const { return value[t] * relative + kTinyF32; }
  };
  Weights weights(int64_t b, int64_t s, int64_t h) const {
    Errors scores, error;
    for (int64_t t = 0; t < keys; ++t) {
      ErrorSum sum;
      for (size_t c = 0; c < static_cast<size_t>(columns); ++c) {
        const size_t i = query(b, s, h) * static_cast<size_t>(columns) + c,
                     j = key(b, t, h) * static_cast<size_t>(columns) + c;
        sum.add(scale * q.value[i] * k.value[j],
                std::abs(scale) * product_error(q.value[i], q.error[i], k.value[j], k.error[j]));
      }
      double score = sum.value, bound = product_sum_bound(sum.magnitude - sum.error, columns) + sum.error;
      if (softcap != 0) {  // whose slope is at most 1; x / softcap and tanh are rounded, and the product
        score = softcap * std::tanh(score / softcap);
        bound = rounded_bound(score, bound, (kMaxUlpF32 * 2 + 3) * kEpsF32);
      }
      double m = 0, m_error = 0;
      if (mask.size() > 0) {
        const auto at =
            static_cast<size_t>(b * mask_strides[0] + h * mask_strides[1] + s * mask_strides[2] + t * mask_strides[3]);
        m = !is_chosen ? mask.value[at] : mask.value[at] != 0 ? 0 : kHidden;
        m_error = is_chosen ? 0 : mask.error[at];
      }
      score += m;
      // The sum is rounded; the scale is divided by ln 2 and so rounded twice, as is what it multiplies.
      bound = rounded_bound(score, bound + m_error, 5 * kEpsF32);
      if (t < s + first - before || t > s + first + behind) score = kHidden;
      scores.push_back(score), error.push_back(bound);
    }
    if (std::all_of(scores.begin(), scores.end(), [](double x) { return x == kHidden; }) &&
        (blind_is_zero || sinks.size() > 0))
      return {Errors(scores.size(), 0.0), 0};
    if (sinks.size() > 0) {
      const double sink = sinks.value[static_cast<size_t>(h)];
      scores.push_back(sink);
      error.push_back(rounded_bound(sink, sinks.error[static_cast<size_t>(h)], 5 * kEpsF32));
    }
    Weights result{weights_of(scores), relative_weight_error(scores, error)};
    if (sinks.size() > 0) result.value.pop_back();
    if (rounds_weights) result.relative += rounded_weight_error();
    return result;
  }
  static constexpr double kHidden = -std::numeric_limits<double>::infinity();

  Errors result() const {
    if (keys == 0) return Errors(static_cast<size_t>(batches * queries * heads * value_columns), 0.0);
    Errors out;
    for (int64_t b = 0; b < batches; ++b)
      for (int64_t s = 0; s < queries; ++s)
        for (int64_t h = 0; h < heads; ++h) {
          const Weights w = weights(b, s, h);
          for (size_t c = 0; c < static_cast<size_t>(value_columns); ++c) {
            double bound = 0;
            for (int64_t t = 0; t < keys; ++t) {
              const size_t j = key(b, t, h) * static_cast<size_t>(value_columns) + c;
              bound += w.value[static_cast<size_t>(t)] *
                       ((w.relative + static_cast<double>(keys + 2) * kEpsF32) * std::abs(v.value[j]) +
                        (1 + w.relative) * v.error[j]);
            }
            out.push_back(bound + kTinyF32);
          }
        }
    return out;
  }

  // Of q, k and v, from d, the gradient of the result.
  std::array<Errors, 3> gradients(const ErrorRow& d) const {
    std::vector<ErrorSum> d_q(q.size()), d_k(k.size()), d_v(v.size());
    for (int64_t b = 0; b < batches; ++b)
      for (int64_t s = 0; s < queries; ++s)
        for (int64_t h = 0; h < heads; ++h) add_gradients(b, s, h, d, d_q, d_k, d_v);
    const int64_t shared = queries * heads / kv_heads;
    return {bounds(d_q, keys), bounds(d_k, shared), bounds(d_v, shared)};
  }

 private:
  static Errors bounds(const std::vector<ErrorSum>& sums, int64_t terms) {
    Errors out;
    for (const ErrorSum& sum : sums)
      out.push_back(sum.magnitude == 0 ? 0 : sum.error + product_sum_bound(sum.magnitude, terms));
    return out;
  }

  void add_gradients(int64_t b, int64_t s, int64_t h, const ErrorRow& d, std::vector<ErrorSum>& d_q,
                     std::vector<ErrorSum>& d_k, std::vector<ErrorSum>& d_v) const {
    const Weights w = weights(b, s, h);
    const auto width = static_cast<size_t>(columns), value_width = static_cast<size_t>(value_columns);
    const size_t row = query(b, s, h);
    Errors d_weights, d_weights_error;
    ErrorSum mean;
    for (size_t t = 0; t < w.value.size(); ++t) {
      ErrorSum sum;
      for (size_t c = 0; c < value_width; ++c) {
        const size_t i = row * value_width + c, j = key(b, static_cast<int64_t>(t), h) * value_width + c;
        sum.add(d.value[i] * v.value[j], product_error(d.value[i], d.error[i], v.value[j], v.error[j]));
        d_v[j].add(w.value[t] * d.value[i], product_error(w.value[t], w.error(t), d.value[i], d.error[i]));
      }
      d_weights.push_back(sum.value);
      d_weights_error.push_back(sum.error + product_sum_bound(sum.magnitude, value_columns));
      mean.add(w.value[t] * sum.value, product_error(w.value[t], w.error(t), sum.value, d_weights_error[t]));
    }
    const double mean_error = mean.bound(w.value.size(), 6);
    for (size_t t = 0; t < w.value.size(); ++t) {
      const double rest = d_weights[t] - mean.value;
      const double rest_error = rounded_bound(rest, d_weights_error[t] + mean_error, 2 * kEpsF32);
      const double score = scale * w.value[t] * rest;
      double score_error =
          rounded_bound(score, std::abs(scale) * product_error(w.value[t], w.error(t), rest, rest_error), 6 * kEpsF32);
      if (keys == 1) score_error = 0;  // its weight is 1, and the mean the very number it is taken off
      for (size_t c = 0; c < width; ++c) {
        const size_t i = row * width + c, j = key(b, static_cast<int64_t>(t), h) * width + c;
        d_q[i].add(score * k.value[j], product_error(score, score_error, k.value[j], k.error[j]));
        d_k[j].add(score * q.value[i], product_error(score, score_error, q.value[i], q.error[i]));
      }
    }
  }
};

}  // namespace hone::test
