// A graph's values by the ops' reference evaluations, each element with a bound on how far generated f32 code may lie
// from it. Bounds start at the inputs (exact) and go through the nodes: what an op does to the errors of its operands,
// plus what its own arithmetic adds. Nodes that only move, compare or round exact elements stay exact.
// The same from real numbers: how far what the graph computes without rounding any sum or product may lie from the
// reference's. Two graphs that compute the same lie no further apart than both bounds together.
#pragma once

#include <array>
#include <functional>

#include "base/checked.h"
#include "ir/pointwise.h"
#include "ops/elements.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "tests/support/attention_bound.h"
#include "tests/support/expanded.h"
#include "tests/support/program_bound.h"
#include "tests/support/row_gradient_bound.h"

namespace hone::test {

struct Bounded {
  Tensor value;
  std::vector<double> error;  // per element; empty: exact
  bool exact() const { return error.empty(); }
};

// Of an op of several results, by the graph that it expands to; the results alone, exact, where there is none.
std::vector<Bounded> bounded_by_expansion(const OpDef& op, const Attributes& attributes,
                                          std::span<const Bounded* const> operands, std::vector<Bounded> results,
                                          DistanceFrom from);

class NodeBound {
 public:
  NodeBound(const OpDef& op, const Attributes& attributes, std::vector<const Bounded*> operands,
            DistanceFrom from = DistanceFrom::generated_code)
      : op_(op), attributes_(attributes), operands_(std::move(operands)), from_(from) {}

  std::vector<Bounded> run() {
    std::vector<Bounded> results;
    for (Tensor& value : evaluate_on([](const Bounded& x) { return x.value; }))
      results.push_back({std::move(value), {}});
    if (std::string_view(op_.name).starts_with("batch_norm_")) return batch_norm_in_training(std::move(results));
    if (std::string_view(op_.name) == "attention_gradient") return bound_gradients(results), results;
    if (results.size() != 1 && op_.moves) return moved(std::move(results));
    if (results.size() != 1) return bounded_by_expansion(op_, attributes_, operands_, std::move(results), from_);
    if (results[0].value.elements() == 0) return results;
    value_ = &results[0].value;
    std::vector<double> error = op_.pointwise ? pointwise() : other();
    if (is_float(value_->dtype()) && value_->dtype() != DType::f64 && !error.empty()) {
      const std::vector<double> y = value_->to_doubles();
      const double eps = unit_roundoff(value_->dtype());
      for (size_t i = 0; i < y.size(); ++i) error[i] = both_rounded_bound(y[i], error[i], eps);
    }
    const bool exact = std::all_of(error.begin(), error.end(), [](double e) { return e == 0; });
    if (!exact) results[0].error = std::move(error);
    return results;
  }

 private:
  using Errors = std::vector<double>;
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();

  bool has(size_t i) const { return i < operands_.size() && operands_[i]; }
  const Tensor& operand(size_t i) const { return operands_[i]->value; }
  bool all_exact() const {
    return std::all_of(operands_.begin(), operands_.end(), [](const Bounded* x) { return !x || x->exact(); });
  }

  std::vector<Bounded> moved(std::vector<Bounded> results) const {
    if (all_exact()) return results;
    const std::vector<Tensor> from = evaluate_on(errors);
    for (size_t i = 0; i < results.size(); ++i) results[i].error = from[i].to_doubles();
    return results;
  }

  void bound_gradients(std::vector<Bounded>& results) const {
    if (operand(0).elements() == 0 || operand(1).elements() == 0) return;
    const auto bounds = attention(4).gradients(operand_row(3));
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i].value.dtype() != DType::f64) results[i].error = bounds[i];
  }

  // Operands as f64 tensors of magnitudes or of errors; integers and booleans stay as they are.
  static Tensor as_f64(const Bounded& x, const Errors& values) { return Tensor::of<double>(x.value.shape(), values); }
  static Tensor magnitudes(const Bounded& x) {
    if (!is_float(x.value.dtype())) return x.value;
    Errors values = x.value.to_doubles();
    for (double& v : values) v = std::abs(v);
    return as_f64(x, values);
  }
  static Tensor errors(const Bounded& x) {
    if (!is_float(x.value.dtype())) return x.value;
    return as_f64(x, x.exact() ? Errors(static_cast<size_t>(x.value.elements()), 0.0) : x.error);
  }

  // The op on operands that `view` makes; operand i by `own` where i is `special`.
  template <class View>
  std::vector<Tensor> evaluate_on(View view, int special = -1, Tensor (*own)(const Bounded&) = nullptr,
                                  size_t limit = 99) const {
    std::vector<Tensor> tensors(operands_.size());
    std::vector<const Tensor*> pointers(operands_.size(), nullptr);
    for (size_t i = 0; i < std::min(limit, operands_.size()); ++i)
      if (operands_[i]) {
        tensors[i] = static_cast<int>(i) == special ? own(*operands_[i]) : view(*operands_[i]);
        pointers[i] = &tensors[i];
      }
    return evaluate_node(op_, pointers, attributes_);
  }

  Errors other() {
    const std::string_view name = op_.name;
    if (!is_float(value_->dtype()) && all_exact()) return {};  // sums of codes
    if (name == "linear" || name == "matmul") return products(operand(0).dim(-1));
    if (name == "block_linear") return block_products();
    if (name == "conv") return products(operand(1).elements() / operand(1).dim(0));
    if (name == "conv_transpose") return products(operand(1).elements() / operand(1).dim(1));
    if (name == "conv_input_gradient") return products(operand(1).elements() / channels_of(*value_));
    if (name == "conv_weight_gradient") return products(operand(0).elements() / value_->dim(0));
    if (name == "attention") return attention(3).result();
    if (name == "einsum" && is_float(value_->dtype()) && operands_.size() <= 2) return einsum();
    if (name == "dft" || name == "stft") return transformed();
    if (name == "softmax" || name == "log_softmax") return softmax(name == "log_softmax");
    if (name == "layer_norm" || name == "rms_norm" || name == "l2_normalise") return normalised();
    if (name == "softmax_gradient" || name == "log_softmax_gradient" || name == "layer_norm_gradient" ||
        name == "rms_norm_gradient" || name == "l2_normalise_gradient")
      return row_gradient();
    if (name == "reduce_sum" || name == "reduce_mean")
      return is_float(operand(0).dtype()) ? sums(operand(0).elements() / std::max<int64_t>(1, value_->elements()))
                                          : Errors{};
    if (name == "mean_pool" || name == "avg_pool" || name == "avg_pool_gradient") return sums(operand(0).elements());
    if (name == "gather_gradient") return sums(operand(1).elements());
    if (name == "scatter_elements" || name == "scatter_nd") return scattered();
    if (name == "max_pool_gradient") return sums_at_extremes();
    if (name == "batch_norm" && value_->dtype() == DType::f32) return batch_norm();
    if (name == "resize" && attributes_.get_or<std::string>("mode", "nearest") != "nearest") return resized();
    if (name == "grid_sample" && attributes_.get_or<std::string>("mode", "linear") != "cubic")
      return sampled(std::ldexp(1.0, static_cast<int>(operand(0).shape().size()) - 2));
    if (const double samples = static_cast<double>(attributes_.get_or<int64_t>("sampling_ratio", 0));
        name == "roi_align" && samples > 0 && attributes_.get_or<std::string>("mode", "avg") == "avg")
      return sampled(4 * samples * samples);
    if (all_exact()) return {};
    if (name == "reduce_min")  // any of the elements may be the least
      return NodeBound(ops::get("reduce_max"), attributes_, operands_, from_).evaluate_on(errors)[0].to_doubles();
    if (op_.moves || op_.view || name == "gather" || name == "concat" || name == "max_pool" || name == "reduce_max")
      return evaluate_on(errors)[0].to_doubles();  // an element of the operands, or an extreme of some
    return Errors(static_cast<size_t>(value_->elements()), kUnknown);
  }

  // --- element by element --------------------------------------------------------------------------------------------
  static uint64_t bits_of(Scalar type, double x) {
    if (type == Scalar::f32) return bits(static_cast<float>(x));
    if (type == Scalar::f64) return bits(x);
    return wrapped(type, static_cast<Wide>(x));
  }

  Errors pointwise() {
    std::vector<DType> dtypes;
    std::array<bool, 8> present{};
    for (size_t i = 0; i < operands_.size(); ++i) {
      present[i] = has(i);
      dtypes.push_back(has(i) ? operand(i).dtype() : DType::f32);
    }
    const Program program = pointwise_program(op_, dtypes, attributes_, std::span(present.data(), operands_.size()));
    const bool stays_exact =
        from_ == DistanceFrom::generated_code ? !has_transcendental(program) : std::string_view(op_.name) == "round_to";
    if (all_exact() && stays_exact) return {};
    const std::vector<int64_t> sizes = value_->shape();
    std::vector<std::vector<int64_t>> offsets(operands_.size());
    std::vector<Errors> values(operands_.size());
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!has(i)) continue;
      values[i] = operand(i).to_doubles();
      for_each_offset(sizes, strides_broadcast(operand(i).shape(), sizes),
                      [&](int64_t at) { offsets[i].push_back(at); });
    }
    ProgramBound bound(program, from_);
    Errors out;
    for (size_t e = 0; e < static_cast<size_t>(value_->elements()); ++e) {
      std::vector<uint64_t> args(operands_.size(), 0);
      Errors off(operands_.size(), 0.0);
      for (size_t i = 0; i < operands_.size(); ++i) {
        if (!has(i)) continue;
        const auto at = static_cast<size_t>(offsets[i][e]);
        args[i] = bits_of(compute_scalar(dtypes[i]), values[i][at]);
        if (!operands_[i]->exact()) off[i] = operands_[i]->error[at];
      }
      out.push_back(bound(args, off));
    }
    return out;
  }

  // As x * factor + shift: a sum, a root, a quotient and a product are rounded on the way to each, and the results
  // once. Of scale, shift and mean, errors go through as they are; one of the variance is not followed.
  Errors batch_norm() {
    if (!operands_[4]->exact()) return Errors(static_cast<size_t>(value_->elements()), kUnknown);
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

  // visit(channel, elements): where those of a channel of operand `i` lie.
  template <class Visit>
  void each_channel(size_t i, Visit visit) {
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

  // Of f32 and exact operands: everything else is not followed, or left to the reference.
  std::vector<Bounded> batch_norm_in_training(std::vector<Bounded> results) {
    for (const Bounded* x : operands_)
      if (x->value.dtype() != DType::f32) return results;
    for (Bounded& result : results) result.error.assign(static_cast<size_t>(result.value.elements()), kUnknown);
    if (!all_exact()) return results;
    if (results.size() == 5) batch_norm_train(results);
    else batch_norm_gradient(results);
    for (Bounded& result : results) {
      const Errors value = result.value.to_doubles();
      for (size_t i = 0; i < value.size(); ++i)
        result.error[i] = both_rounded_bound(value[i], result.error[i], kEpsF32);
    }
    return results;
  }

  // A sum of n is off by n roundings of its magnitudes. The mean's error adds its square to the variance, since
  // distances from the mean add up to 0, and that of the variance goes through 1 / sqrt.
  void batch_norm_train(std::vector<Bounded>& results) {
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

  void batch_norm_gradient(std::vector<Bounded>& results) {
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

  // So many elements at most, whose weights, rounded once, sum up to 1 at most. Where they lie is exact where the grid
  // is, or the regions.
  Errors sampled(double elements) {
    if (!operands_[1]->exact()) return Errors(static_cast<size_t>(value_->elements()), kUnknown);
    const auto keep = [](const Bounded& x) { return x.value; };
    Errors error(static_cast<size_t>(value_->elements()), 0.0);
    if (!operands_[0]->exact()) error = evaluate_on(keep, 0, errors)[0].to_doubles();
    const Errors size = evaluate_on(keep, 0, magnitudes)[0].to_doubles();
    for (size_t i = 0; i < error.size(); ++i)
      error[i] = std::abs(error[i]) + (elements + 2) * kEpsF32 * (std::abs(size[i]) + std::abs(error[i]));
    return error;
  }

  // Axes along which the result has another size, two at least.
  double resized_axes() const {
    double axes = 0;
    for (size_t i = 0; i < value_->shape().size(); ++i) axes += operand(0).shape()[i] != value_->shape()[i];
    return std::max(axes, 2.0);
  }

  // A place reads at most twice as many elements along each axis as it stands for, of the cubic four times as many.
  // Their weights, rounded twice, sum up to 1.
  Errors resized() {
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

  static double largest_magnitude(const Tensor& x) {
    double most = 0;
    for (const double v : x.to_doubles()) most = std::max(most, std::abs(v));
    return most;
  }

  // Weights of the cubic may be below 0: half way between elements they are (4 - a)/8 and a/8, whose magnitudes sum up
  // to 1 + |a|/2, and to no more elsewhere. Where elements outside weigh nothing the others are divided by 1/2 at
  // least.
  Errors resized_cubic() {
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

  // --- sums of products ----------------------------------------------------------------------------------------------
  // sum|a||b| and, where operands err, sum(|a| err(b) + err(a) |b| + err(a) err(b)); the bias is one more term.
  Errors products(int64_t k) {
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
  Errors block_products() {
    if (!all_exact()) return Errors(static_cast<size_t>(value_->elements()), kUnknown);
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
  Errors einsum() {
    const auto ones = [](const Bounded& x) { return as_f64(x, Errors(static_cast<size_t>(x.value.elements()), 1.0)); };
    const auto terms = static_cast<int64_t>(evaluate_on(ones)[0].to_doubles()[0]);
    if (operands_.size() == 2) return products(terms);
    return terms == 1 ? evaluate_on(errors)[0].to_doubles() : sums(terms);
  }

  // Sums over all of x, or over one of its dimensions and parts: of coefficients that are rounded once, and at most 1
  // times what the window has, or 2 where a spectrum's half stands for both.
  Errors transformed() {
    const Bounded& x = *operands_[0];
    const double most = largest_magnitude(x.value), off = x.exact() ? 0 : *std::ranges::max_element(x.error);
    double window = 1;
    int64_t terms = 0;
    for (size_t i = 0; i + 1 < x.value.shape().size(); ++i)
      terms = std::max(terms, x.value.shape()[i] * x.value.dim(-1));
    if (std::string_view(op_.name) == "stft" && operands_.size() > 1 && operands_[1]) {
      window = largest_magnitude(operands_[1]->value);
      if (!operands_[1]->exact()) return Errors(static_cast<size_t>(value_->elements()), kUnknown);
    } else if (attributes_.get_or<int64_t>("inverse", 0) != 0 && attributes_.get_or<int64_t>("onesided", 0) != 0) {
      window = 2;
    }
    const double all = static_cast<double>(terms) * window;
    const double error = all * off + product_sum_bound(all * (most + off), terms) + kEpsF32 * all * (most + off);
    return Errors(static_cast<size_t>(value_->elements()), error);
  }

  int64_t channels_of(const Tensor& images) const {
    return images.dim(attributes_.get_or<int64_t>("channels_last", 0) != 0 ? -1 : 1);
  }

  // Additions of the very terms; the errors of the terms add up (or are averaged) the same way.
  Errors sums(int64_t terms) {
    Errors error = evaluate_on(magnitudes)[0].to_doubles();
    for (double& e : error) e *= (static_cast<double>(terms) + 2) * (value_->dtype() == DType::f64 ? kEpsF64 : kEpsF32);
    if (operands_[0]->exact()) return error;
    const Errors more = evaluate_on(errors)[0].to_doubles();
    for (size_t i = 0; i < error.size(); ++i) error[i] += more[i];
    return error;
  }

  // Each element with its updates, one after the other.
  Errors scattered() {
    const auto reduction = attributes_.get_or<std::string>("reduction", "none");
    const bool is_rounded = reduction == "add" || reduction == "mul";
    if (is_rounded && all_exact() && is_float(value_->dtype())) return sums(operand(1).elements());
    if (all_exact()) return {};
    return reduction == "add" ? sums(operand(1).elements()) : Errors(static_cast<size_t>(value_->elements()), kUnknown);
  }

  // The same of operand 1, each term where the elements of operand 0 say; an error of those may change that.
  Errors sums_at_extremes() {
    if (!operands_[0]->exact()) return Errors(static_cast<size_t>(value_->elements()), kUnknown);
    const auto keep = [](const Bounded& x) { return x.value; };
    Errors error = evaluate_on(keep, 1, magnitudes)[0].to_doubles();
    for (double& e : error) e *= static_cast<double>(operand(1).elements() + 2) * kEpsF32;
    if (operands_[1]->exact()) return error;
    const Errors more = evaluate_on(keep, 1, errors)[0].to_doubles();
    for (size_t i = 0; i < error.size(); ++i) error[i] += more[i];
    return error;
  }

  // --- rows ----------------------------------------------------------------------------------------------------------
  // Calls visit(x, e, out) for each line of operand 0 along `axis`: values, their errors, and where the results' go.
  template <class Visit>
  Errors each_line(int64_t axis, Visit visit) {
    const AxisView view =
        around_axis(operand(0).shape(),
                    static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(operand(0).shape().size()) : axis));
    const Errors x = operand(0).to_doubles(), e = errors(*operands_[0]).to_doubles();
    Errors out(x.size());
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t j = 0; j < view.inner; ++j) {
        Errors line, line_error;
        for (int64_t i = 0; i < view.length; ++i) {
          const auto at = static_cast<size_t>((o * view.length + i) * view.inner + j);
          line.push_back(x[at]), line_error.push_back(e[at]);
        }
        const Errors result = visit(line, line_error);
        for (int64_t i = 0; i < view.length; ++i)
          out[static_cast<size_t>((o * view.length + i) * view.inner + j)] = result[static_cast<size_t>(i)];
      }
    return out;
  }

  Errors softmax(bool logarithm) {
    return each_line(attributes_.get_or<int64_t>("axis", -1), [&](const Errors& x, const Errors& e) {
      if (logarithm && x.size() == 1) return Errors{2 * e[0]};  // x - x - log(exp(0)): 0, whatever x is
      const double relative = relative_weight_error(x, e), most = *std::max_element(x.begin(), x.end());
      Errors out = weights_of(x);
      for (size_t i = 0; i < x.size(); ++i) {
        if (!logarithm) out[i] = out[i] * relative + kTinyF32;
        else  // (x - most) - log(sum): the sum's relative error, log's own, and two subtractions
          out[i] =
              relative + e[i] + (std::abs(x[i]) + std::abs(most)) * 4 * kEpsF32 +
              (2 * kMaxUlpF32 + 4) * kEpsF32 * (std::abs(std::log(out[i])) + std::log(static_cast<double>(x.size())));
      }
      return out;
    });
  }

  // y = (x - mean) · scale · weight + bias; mean is 0 but for layer_norm. A row of one element is its own mean,
  // exactly.
  Errors normalised() {
    const std::string_view name = op_.name;
    const double floor = attributes_.get_or<double>("epsilon", name == "layer_norm" ? 1e-5
                                                               : name == "rms_norm" ? 1e-6
                                                                                    : 1e-12);
    const Errors weight = has(1) ? operand(1).to_doubles() : Errors(),
                 bias = has(2) ? operand(2).to_doubles() : Errors();
    return each_line(-1, [&](const Errors& x, const Errors& e) {
      const double n = static_cast<double>(x.size());
      double mean = 0, mean_error = 0;
      if (name == "layer_norm")
        for (size_t i = 0; i < x.size(); ++i) {
          mean += x[i] / n;
          mean_error += (e[i] + (n == 1 ? 0 : n + 3) * kEpsF32 * std::abs(x[i])) / n;
        }
      Errors centred_error;
      double squares = 0, squares_error = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double c = std::abs(x[i] - mean);
        const double ce = centred_error.emplace_back(both_rounded_bound(c, e[i] + mean_error, kEpsF32));
        squares += c * c;
        squares_error += 2 * c * ce + ce * ce + (n + 4) * kEpsF32 * c * c;
      }
      // scale = 1 / sqrt(q): half of q's relative error and a few roundings; q is mean square + epsilon, or for
      // l2_normalise the sum of squares, at least epsilon².
      const double parts = name == "l2_normalise" ? 1 : n;
      const double q = name == "l2_normalise" ? std::max(squares, floor * floor) : squares / n + floor;
      const double q_error = squares_error / parts;
      if (q_error >= q) return Errors(x.size(), kUnknown);
      const double scale = 1 / std::sqrt(q), relative = (1 / std::sqrt(1 - q_error / q) - 1) + 6 * kEpsF32;
      Errors out;
      for (size_t i = 0; i < x.size(); ++i) {
        const double c = std::abs(x[i] - mean), w = has(1) ? std::abs(weight[i]) : 1;
        const double we = has(1) && !operands_[1]->exact() ? operands_[1]->error[i] : 0;
        const double be = has(2) && !operands_[2]->exact() ? operands_[2]->error[i] : 0;
        double error = (centred_error[i] * (1 + relative) + c * relative) * scale;
        error = error * (w + we) + c * scale * we + 3 * kEpsF32 * (c * scale * w + error * w);
        if (has(2))
          error = error + be == 0 ? 0 : rounded_bound(c * scale * w + std::abs(bias[i]), error + be, 2 * kEpsF32);
        out.push_back(error);
      }
      return out;
    });
  }

  // Of operands 0 and 1 line by line, as their bounds take them.
  Errors row_gradient() {
    const std::string_view name = op_.name;
    ErrorRow weight;
    if (has(2)) weight = {operand(2).to_doubles(), errors(*operands_[2]).to_doubles()};
    const Errors d = operand(1).to_doubles(), d_error = errors(*operands_[1]).to_doubles();
    const int64_t axis = attributes_.get_or<int64_t>("axis", -1);
    const AxisView view = around_axis(operand(0).shape(), checked_axis(axis, operand(0).shape().size()));
    int64_t lines = 0;
    return each_line(axis, [&](const Errors& x, const Errors& e) {
      ErrorRow second;
      for (int64_t i = 0, line = lines++; i < view.length; ++i) {
        const auto at = static_cast<size_t>((line / view.inner * view.length + i) * view.inner + line % view.inner);
        second.value.push_back(d[at]), second.error.push_back(d_error[at]);
      }
      const ErrorRow first{x, e};
      if (name == "softmax_gradient") return softmax_gradient_bound(first, second);
      if (name == "log_softmax_gradient") return log_softmax_gradient_bound(first, second);
      const bool layer = name == "layer_norm_gradient", l2 = name == "l2_normalise_gradient";
      const double epsilon = attributes_.get_or<double>("epsilon", layer ? 1e-5 : l2 ? 1e-12 : 1e-6);
      return norm_gradient_bound(first, second, weight, {layer, l2, epsilon});
    });
  }

  // --- attention -----------------------------------------------------------------------------------------------------
  ErrorRow operand_row(size_t i) const {
    if (!has(i)) return {};
    return {operand(i).to_doubles(), errors(*operands_[i]).to_doubles()};
  }

  // Of attention and of its gradient, whose mask is another operand.
  AttentionBound attention(size_t mask) const {
    const int64_t heads = attributes_.get<int64_t>("heads"), kv_heads = attributes_.get_or<int64_t>("kv_heads", heads);
    const int64_t columns = operand(0).dim(2) / heads;
    AttentionBound bound{.q = operand_row(0),
                         .k = operand_row(1),
                         .v = operand_row(2),
                         .mask = operand_row(mask),
                         .batches = operand(0).dim(0),
                         .queries = operand(0).dim(1),
                         .keys = operand(1).dim(1),
                         .heads = heads,
                         .kv_heads = kv_heads,
                         .columns = columns,
                         .value_columns = operand(2).dim(2) / kv_heads,
                         .scale = attributes_.get_or<double>("scale", 1 / std::sqrt(static_cast<double>(columns))),
                         .softcap = attributes_.get_or<double>("softcap", 0),
                         .is_chosen = has(mask) && operand(mask).dtype() == DType::boolean,
                         .blind_is_zero = attributes_.get_or<int64_t>("blind_is_zero", 0) != 0,
                         .rounds_weights = mask == 3 && operand(0).dtype() == DType::bf16 &&
                                           operand(1).dtype() == DType::bf16 && operand(2).dtype() == DType::bf16};
    if (attributes_.get_or<int64_t>("from_start", 0) == 0) bound.first = bound.keys - bound.queries;
    if (attributes_.has("before")) bound.before = attributes_.get<int64_t>("before");
    if (attributes_.has("behind")) bound.behind = attributes_.get<int64_t>("behind");
    if (attributes_.get_or<int64_t>("causal", 0) != 0) bound.behind = 0;
    if (mask == 3 && has(4)) bound.sinks = operand_row(4);
    if (has(mask))
      bound.mask_strides = strides_broadcast(operand(mask).shape(),
                                             std::vector<int64_t>{bound.batches, heads, bound.queries, bound.keys});
    return bound;
  }

  const OpDef& op_;
  const Attributes& attributes_;
  std::vector<const Bounded*> operands_;
  DistanceFrom from_;
  const Tensor* value_ = nullptr;
};

struct BoundOptions {
  DistanceFrom from = DistanceFrom::generated_code;
  std::function<std::vector<double>(const Tensor& constant)> constant_error = {};  // empty: they are exact
};

// The nodes' results, from inputs and constants, which are there.
inline void follow_bounds(const Graph& concrete, std::vector<Bounded>& values, DistanceFrom from) {
  for (NodeId n : concrete.nodes()) {
    const Node& node = concrete.node(n);
    std::vector<const Bounded*> operands;
    for (ValueId v : node.operands) operands.push_back(v == kNone ? nullptr : &values[static_cast<size_t>(v)]);
    if (!node.subgraphs.empty()) {  // what bodies compute has to be exact
      std::vector<const Tensor*> tensors;
      for (const Bounded* operand : operands) tensors.push_back(operand ? &operand->value : nullptr);
      std::vector<Tensor> results = evaluate_node(*node.op, tensors, node.attributes, node.subgraphs);
      for (size_t i = 0; i < results.size(); ++i)
        values[static_cast<size_t>(node.results[i])].value = std::move(results[i]);
      continue;
    }
    std::vector<Bounded> results = NodeBound(*node.op, node.attributes, operands, from).run();
    for (size_t i = 0; i < results.size(); ++i) values[static_cast<size_t>(node.results[i])] = std::move(results[i]);
  }
}

// What computes them at once lies no further from the expansion's reference than code of the expansion does, whose
// values are rounded more often; and that is as far from the op's own reference as it is.
inline std::vector<Bounded> bounded_by_expansion(const OpDef& op, const Attributes& attributes,
                                                 std::span<const Bounded* const> operands, std::vector<Bounded> results,
                                                 DistanceFrom from) {
  std::vector<TensorType> types;
  std::vector<const TensorType*> given;
  for (const Bounded* operand : operands) types.push_back(operand ? operand->value.type() : TensorType());
  for (size_t i = 0; i < types.size(); ++i) given.push_back(operands[i] ? &types[i] : nullptr);
  if (std::ranges::any_of(results, [](const Bounded& each) { return each.value.elements() == 0; })) return results;
  const auto [graph, inputs] = expanded(op, attributes, given);
  if (graph.outputs().empty()) return results;
  std::vector<Bounded> values(graph.value_capacity());
  for (ValueId v : graph.constants()) values[static_cast<size_t>(v)].value = *graph.constant(v);
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i]) values[static_cast<size_t>(inputs[i])] = *operands[i];
  follow_bounds(graph, values, from);
  for (size_t i = 0; i < results.size(); ++i) {
    const Bounded& found = values[static_cast<size_t>(graph.outputs()[i].value)];
    const std::vector<double> own = found.value.to_doubles(), wanted = results[i].value.to_doubles();
    const double eps = unit_roundoff(results[i].value.dtype());
    for (size_t e = 0; e < own.size(); ++e)
      results[i].error.push_back(
          both_rounded_bound(wanted[e], std::abs(own[e] - wanted[e]) + (found.exact() ? 0 : found.error[e]), eps));
  }
  return results;
}

// The graph's outputs, in their order.
inline std::vector<Bounded> bounded_outputs(const Graph& graph, const std::map<std::string, Tensor>& inputs,
                                            const BoundOptions& options = {}) {
  const Graph concrete = specialise(graph, bind_inputs(graph, inputs));
  std::vector<Bounded> values(concrete.value_capacity());
  for (ValueId v : concrete.constants()) {
    Bounded& constant = values[static_cast<size_t>(v)];
    constant.value = *concrete.constant(v);
    if (options.constant_error) constant.error = options.constant_error(constant.value);
  }
  for (ValueId v : concrete.inputs()) values[static_cast<size_t>(v)].value = inputs.at(concrete.value(v).label);
  follow_bounds(concrete, values, options.from);
  std::vector<Bounded> outputs;
  for (const Output& output : concrete.outputs()) {
    outputs.push_back(values[static_cast<size_t>(output.value)]);
    if (Tensor& value = outputs.back().value; value.is_packed()) value = unpack(value);  // as callers get it
  }
  return outputs;
}

// What is wrong with `got`; "" when every element lies within its bound. Exact elements have the same bits (or are both
// NaN).
inline std::string element_fault_of(const Tensor& got, const Bounded& want) {
  if (got.container() != Container::none) return got.same_bits(want.value) ? "" : "holds other items";
  if (!(got.type() == want.value.type()))
    return fmt::format("is {} instead of {}", to_string(got.type()), to_string(want.value.type()));
  if (got.dtype() == DType::string) return got.same_bits(want.value) ? "" : "holds other strings";
  if (want.exact() && got.same_bits(want.value)) return "";
  const std::vector<double> x = got.to_doubles(), y = want.value.to_doubles();
  for (size_t i = 0; i < x.size(); ++i) {
    const double bound = want.exact() ? 0 : want.error[i];
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    const bool same = x[i] == y[i] && std::signbit(x[i]) == std::signbit(y[i]);
    if (!same && !(std::abs(x[i] - y[i]) <= bound))
      return fmt::format("element {} is {} instead of {}, {} off; bound {}", i, x[i], y[i], std::abs(x[i] - y[i]),
                         bound);
  }
  return "";
}

// Root mean squares of the errors and of the values, because single elements may cancel to nothing.
struct BoundSize {
  double error = 0, magnitude = 0;
};
inline BoundSize bound_size(const Bounded& want) {
  BoundSize size;
  const std::vector<double> y = want.value.to_doubles();
  for (size_t i = 0; i < y.size(); ++i) {
    if (!std::isfinite(y[i])) continue;
    if (!want.exact()) size.error += want.error[i] * want.error[i];
    size.magnitude += y[i] * y[i];
  }
  const auto count = static_cast<double>(std::max<size_t>(y.size(), 1));
  return {std::sqrt(size.error / count), std::sqrt(size.magnitude / count)};
}

// The same, and a bound as wide as the values, which would let anything pass, is a fault too.
inline std::string fault_of(const Tensor& got, const Bounded& want) {
  if (std::string fault = element_fault_of(got, want); !fault.empty()) return fault;
  if (want.exact()) return "";
  const auto [error, magnitude] = bound_size(want);
  return error <= magnitude / 4 ? "" : fmt::format("the bound says nothing: {} of {}", error, magnitude);
}

}  // namespace hone::test
