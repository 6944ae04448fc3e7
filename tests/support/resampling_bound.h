// Weighted sums of a few elements, whose weights sum up to 1: resize, grid_sample, roi_align.
#pragma once

#include "tests/support/bounded_node.h"

namespace hone::test {

class ResamplingBound : BoundedNode {
 public:
  explicit ResamplingBound(const BoundedNode& node) : BoundedNode(node) {}

  // So many elements at most, whose weights, rounded once, sum up to 1 at most. Where they lie is exact where the grid
  // is, or the regions.
  Errors sampled(double elements) const {
    if (!operands_[1]->exact()) return unknown();
    const auto keep = [](const Bounded& x) { return x.value; };
    Errors error(static_cast<size_t>(value_->elements()), 0.0);
    if (!operands_[0]->exact()) error = evaluate_on(keep, 0, errors)[0].to_doubles();
    const Errors size = evaluate_on(keep, 0, magnitudes)[0].to_doubles();
    for (size_t i = 0; i < error.size(); ++i)
      error[i] = std::abs(error[i]) + (elements + 2) * kEpsF32 * (std::abs(size[i]) + std::abs(error[i]));
    return error;
  }

  // A place reads at most twice as many elements along each axis as it stands for, of the cubic four times as many.
  // Their weights, rounded twice, sum up to 1.
  Errors resized() const {
    const auto keep = [](const Bounded& x) { return x.value; };
    if (attributes_.get_or<std::string>("mode", "") == "cubic") return resized_cubic();
    Errors error(static_cast<size_t>(value_->elements()), 0.0);
    if (!operands_[0]->exact()) error = evaluate_on(keep, 0, errors)[0].to_doubles();
    const Errors size = evaluate_on(keep, 0, magnitudes)[0].to_doubles();
    const double stands_for = std::ceil(static_cast<double>(operand(0).elements()) / static_cast<double>(size.size()));
    for (size_t i = 0; i < error.size(); ++i)
      error[i] = std::abs(error[i]) +
                 resized_axes() * (2 * stands_for + 4) * kEpsF32 * (std::abs(size[i]) + std::abs(error[i]));
    return error;
  }

 private:
  // Axes along which the result has another size, two at least.
  double resized_axes() const {
    double axes = 0;
    for (size_t i = 0; i < value_->shape().size(); ++i) axes += operand(0).shape()[i] != value_->shape()[i];
    return std::max(axes, 2.0);
  }

  // Weights of the cubic may be below 0: half way between elements they are (4 - a)/8 and a/8, whose magnitudes sum up
  // to 1 + |a|/2, and to no more elsewhere. Where elements outside weigh nothing the others are divided by 1/2 at
  // least.
  Errors resized_cubic() const {
    const Bounded& x = *operands_[0];
    const double most = largest_magnitude(x.value), off = x.exact() ? 0 : *std::ranges::max_element(x.error);
    const bool excludes = attributes_.get_or<int64_t>("exclude_outside", 0) != 0;
    const double along = (1 + std::abs(attributes_.get_or<double>("cubic_coeff_a", -0.75)) / 2) * (excludes ? 2 : 1);
    const double stands_for =
        std::ceil(static_cast<double>(x.value.elements()) / static_cast<double>(value_->elements()));
    const double axes = resized_axes(), sum = std::pow(along, axes);
    const double error = sum * (off + axes * (4 * stands_for + 6) * kEpsF32 * (most + off));
    return Errors(static_cast<size_t>(value_->elements()), error);
  }
};

}  // namespace hone::test
