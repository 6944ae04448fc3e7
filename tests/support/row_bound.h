// Ops of whole rows, bounded line by line: softmax, norms, and their gradients.
#pragma once

#include "base/checked.h"
#include "tests/support/bounded_node.h"
#include "tests/support/row_gradient_bound.h"

namespace hone::test {

class RowBound : BoundedNode {
 public:
  explicit RowBound(const BoundedNode& node) : BoundedNode(node) {}

  Errors softmax(bool logarithm) const {
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
  Errors normalised() const {
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
  Errors gradient() const {
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

 private:
  // Calls visit(x, e, out) for each line of operand 0 along `axis`: values, their errors, and where the results' go.
  template <class Visit>
  Errors each_line(int64_t axis, Visit visit) const {
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
};

}  // namespace hone::test
