// Batch norm, as it is applied, in training, and its gradient: bounds by channel.
#pragma once

#include "tests/support/bounded_node.h"

namespace hone::test {

class BatchNormBound : BoundedNode {
 public:
  explicit BatchNormBound(const BoundedNode& node) : BoundedNode(node) {}

  // As x * factor + shift: a sum, a root, a quotient and a product are rounded on the way to each, and the results
  // once. Of scale, shift and mean, errors go through as they are; one of the variance is not followed.
  Errors applied() const {
    if (!operands_[4]->exact()) return unknown();
    std::array<Errors, 5> values, off;
    for (size_t i = 0; i < 5; ++i) values[i] = operand(i).to_doubles(), off[i] = errors(*operands_[i]).to_doubles();
    const auto& [x, scale, bias, mean, variance] = values;
    const double epsilon = attributes_.get_or<double>("epsilon", 1e-5);
    const AxisView view = around_axis(value_->shape(), 1);
    Errors error;
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t c = i / static_cast<size_t>(view.inner) % static_cast<size_t>(view.length);
      const double root = std::sqrt(variance[c] + epsilon), factor = (std::abs(scale[c]) + off[1][c]) / root;
      const double propagated =
          factor * (off[0][i] + off[3][c]) + off[1][c] / root * std::abs(x[i] - mean[c]) + off[2][c];
      error.push_back(propagated +
                      kEpsF32 * (6 * factor * (std::abs(x[i]) + off[0][i]) +
                                 8 * factor * (std::abs(mean[c]) + off[3][c]) + 2 * (std::abs(bias[c]) + off[2][c])));
    }
    return error;
  }

  // Of f32 and exact operands: everything else is not followed, or left to the reference.
  std::vector<Bounded> in_training(std::vector<Bounded> results) const {
    for (const Bounded* x : operands_)
      if (x->value.dtype() != DType::f32) return results;
    for (Bounded& result : results) result.error.assign(static_cast<size_t>(result.value.elements()), kUnknown);
    if (!all_exact()) return results;
    if (results.size() == 5) train(results);
    else gradient(results);
    for (Bounded& result : results) {
      const Errors value = result.value.to_doubles();
      for (size_t i = 0; i < value.size(); ++i)
        result.error[i] = both_rounded_bound(value[i], result.error[i], kEpsF32);
    }
    return results;
  }

 private:
  // visit(channel, elements): where those of a channel of operand `i` lie.
  template <class Visit>
  void each_channel(size_t i, Visit visit) const {
    const std::vector<int64_t>& shape = operand(i).shape();
    const bool last = attributes_.get_or<int64_t>("channels_last", 0) != 0;
    const AxisView view = around_axis(shape, last ? shape.size() - 1 : 1);
    for (int64_t c = 0; c < view.length; ++c) {
      std::vector<size_t> elements;
      for (int64_t o = 0; o < view.outer; ++o)
        for (int64_t j = 0; j < view.inner; ++j)
          elements.push_back(static_cast<size_t>((o * view.length + c) * view.inner + j));
      visit(static_cast<size_t>(c), elements);
    }
  }

  // A sum of n is off by n roundings of its magnitudes. The mean's error adds its square to the variance, since
  // distances from the mean add up to 0, and that of the variance goes through 1 / sqrt.
  void train(std::vector<Bounded>& results) const {
    const double epsilon = attributes_.get_or<double>("epsilon", 1e-5),
                 momentum = attributes_.get_or<double>("momentum", 0.1);
    std::array<Errors, 5> in;
    for (size_t i = 0; i < 5; ++i) in[i] = operand(i).to_doubles();
    const auto& [x, scale, bias, running_mean, running_variance] = in;
    each_channel(0, [&](size_t c, const std::vector<size_t>& elements) {
      const auto n = static_cast<double>(elements.size());
      double sum = 0, magnitudes = 0, squares = 0;
      for (size_t i : elements) sum += x[i], magnitudes += std::abs(x[i]);
      const double mean = sum / n, mean_error = (n + 3) * kEpsF32 * magnitudes / n;
      for (size_t i : elements) squares += (x[i] - mean) * (x[i] - mean);
      const double square = mean_error * mean_error, variance = squares / n, floor = variance + epsilon;
      const double variance_error = square + (n + 6) * kEpsF32 * (variance + square);
      if (variance_error > floor / 4) return;
      const double inverse = 1 / std::sqrt(floor), inverse_error = inverse * (variance_error / floor + 4 * kEpsF32);
      for (size_t i : elements) {
        const double distance = std::abs(x[i] - mean), off = mean_error + kEpsF32 * (distance + mean_error);
        results[0].error[i] = std::abs(scale[c]) * ((inverse + inverse_error) * (off + 3 * kEpsF32 * distance) +
                                                    distance * inverse_error) +
                              kEpsF32 * (2 * std::abs(bias[c]) + std::abs(scale[c]) * inverse * distance);
      }
      const double others = std::max(n - 1, 1.0), sampled = squares / others,
                   sampled_error = variance_error * n / others + 3 * kEpsF32 * sampled;
      results[1].error[c] = mean_error, results[2].error[c] = inverse_error;
      results[3].error[c] = momentum * mean_error + 3 * kEpsF32 * (std::abs(running_mean[c]) + std::abs(mean));
      results[4].error[c] = momentum * sampled_error + 3 * kEpsF32 * (std::abs(running_variance[c]) + sampled);
    });
  }

  void gradient(std::vector<Bounded>& results) const {
    std::array<Errors, 5> in;
    for (size_t i = 0; i < 5; ++i) in[i] = operand(i).to_doubles();
    const auto& [d, x, scale, mean, inverse] = in;
    each_channel(1, [&](size_t c, const std::vector<size_t>& elements) {
      const auto n = static_cast<double>(elements.size());
      double sums = 0, products = 0;  // of magnitudes
      const auto normal = [&](size_t i) { return std::abs((x[i] - mean[c]) * inverse[c]); };
      for (size_t i : elements) sums += std::abs(d[i]), products += std::abs(d[i]) * normal(i);
      results[1].error[c] = (n + 4) * kEpsF32 * products, results[2].error[c] = n * kEpsF32 * sums;
      for (size_t i : elements) {
        const double terms = std::abs(d[i]) + sums / n + normal(i) * products / n;
        const double off = (results[2].error[c] + normal(i) * results[1].error[c]) / n + 8 * kEpsF32 * terms;
        results[0].error[i] = std::abs(scale[c] * inverse[c]) * off;
      }
    });
  }
};

}  // namespace hone::test
