// Sums, and sums of products: what each rounding adds, times the magnitudes that are summed.
#pragma once

#include "ops/registry.h"
#include "tests/support/bounded_node.h"

namespace hone::test {

class SumBound : BoundedNode {
 public:
  explicit SumBound(const BoundedNode& node) : BoundedNode(node) {}

  // sum|a||b| and, where operands err, sum(|a| err(b) + err(a) |b| + err(a) err(b)); the bias is one more term.
  Errors products(int64_t k) const {
    const size_t factors = 2;
    Errors error = evaluate_on(magnitudes, -1, nullptr, factors)[0].to_doubles();
    const double per_sum = value_->dtype() == DType::f64 ? kEpsF64 / kEpsF32 : 1;
    for (double& e : error)
      if (e != 0) e = per_sum * product_sum_bound(e, k);
    for (int which : {0, 1, 2}) {
      if (which < 2 && operands_[static_cast<size_t>(which)]->exact()) continue;
      if (which == 2 && (operands_[0]->exact() || operands_[1]->exact())) continue;
      const Errors more = which < 2 ? evaluate_on(magnitudes, which, errors, factors)[0].to_doubles()
                                    : evaluate_on(errors, -1, nullptr, factors)[0].to_doubles();
      for (size_t i = 0; i < error.size(); ++i) error[i] += more[i];
    }
    if (!has(2)) return error;
    const Errors bias = operand(2).to_doubles();
    const bool last = std::string_view(op_.name) == "linear" || attributes_.get_or<int64_t>("channels_last", 0) != 0;
    const size_t inner = last ? 1 : static_cast<size_t>(around_axis(value_->shape(), 1).inner);
    for (size_t i = 0; i < error.size(); ++i) {
      const size_t c = i / inner % bias.size();
      error[i] = rounded_bound(bias[c], error[i], kEpsF32) + (operands_[2]->exact() ? 0 : operands_[2]->error[c]);
    }
    return error;
  }

  // Generated code has the bits of the definition. From real numbers: each block's sum is exact but for its own
  // rounding, its step and the addition, which those of k products and additions cover.
  Errors block_products() const {
    if (!all_exact()) return unknown();
    if (from_ == DistanceFrom::generated_code) return {};
    const auto magnitudes_of = [](const Tensor& x) {
      Errors values = x.to_doubles();
      for (double& v : values) v = std::abs(v);
      return Tensor::of<double>(x.shape(), values);
    };
    const Tensor x = magnitudes_of(operand(0)), w = magnitudes_of(operand(1));
    const Tensor* const factors[] = {&x, &w};
    Errors error = evaluate_node(ops::get("linear"), factors, {})[0].to_doubles();
    for (double& e : error) e = product_sum_bound(e, operand(0).dim(-1));
    return error;
  }

  // Of one operand or two, which may become sums and a product; einsum of ones counts the terms.
  Errors einsum() const {
    const auto ones = [](const Bounded& x) { return as_f64(x, Errors(static_cast<size_t>(x.value.elements()), 1.0)); };
    const auto terms = static_cast<int64_t>(evaluate_on(ones)[0].to_doubles()[0]);
    if (operands_.size() == 2) return products(terms);
    return terms == 1 ? evaluate_on(errors)[0].to_doubles() : sums(terms);
  }

  // Sums over all of x, or over one of its dimensions and parts: of coefficients that are rounded once, and at most 1
  // times what the window has, or 2 where a spectrum's half stands for both.
  Errors transformed() const {
    const Bounded& x = *operands_[0];
    const double most = largest_magnitude(x.value), off = x.exact() ? 0 : *std::ranges::max_element(x.error);
    double window = 1;
    int64_t terms = 0;
    for (size_t i = 0; i + 1 < x.value.shape().size(); ++i)
      terms = std::max(terms, x.value.shape()[i] * x.value.dim(-1));
    if (std::string_view(op_.name) == "stft" && operands_.size() > 1 && operands_[1]) {
      window = largest_magnitude(operands_[1]->value);
      if (!operands_[1]->exact()) return unknown();
    } else if (attributes_.get_or<int64_t>("inverse", 0) != 0 && attributes_.get_or<int64_t>("onesided", 0) != 0) {
      window = 2;
    }
    const double all = static_cast<double>(terms) * window;
    const double error = all * off + product_sum_bound(all * (most + off), terms) + kEpsF32 * all * (most + off);
    return Errors(static_cast<size_t>(value_->elements()), error);
  }

  // Additions of the very terms; the errors of the terms add up (or are averaged) the same way.
  Errors sums(int64_t terms) const {
    Errors error = evaluate_on(magnitudes)[0].to_doubles();
    for (double& e : error) e *= (static_cast<double>(terms) + 2) * (value_->dtype() == DType::f64 ? kEpsF64 : kEpsF32);
    if (operands_[0]->exact()) return error;
    const Errors more = evaluate_on(errors)[0].to_doubles();
    for (size_t i = 0; i < error.size(); ++i) error[i] += more[i];
    return error;
  }

  // Each element with its updates, one after the other.
  Errors scattered() const {
    const auto reduction = attributes_.get_or<std::string>("reduction", "none");
    const bool is_rounded = reduction == "add" || reduction == "mul";
    if (is_rounded && all_exact() && is_float(value_->dtype())) return sums(operand(1).elements());
    if (all_exact()) return {};
    return reduction == "add" ? sums(operand(1).elements()) : unknown();
  }

  // The same of operand 1, each term where the elements of operand 0 say; an error of those may change that.
  Errors sums_at_extremes() const {
    if (!operands_[0]->exact()) return unknown();
    const auto keep = [](const Bounded& x) { return x.value; };
    Errors error = evaluate_on(keep, 1, magnitudes)[0].to_doubles();
    for (double& e : error) e *= static_cast<double>(operand(1).elements() + 2) * kEpsF32;
    if (operands_[1]->exact()) return error;
    const Errors more = evaluate_on(keep, 1, errors)[0].to_doubles();
    for (size_t i = 0; i < error.size(); ++i) error[i] += more[i];
    return error;
  }
};

}  // namespace hone::test
