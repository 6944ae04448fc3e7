// One node of a graph on its way to a bound: its operands with their errors, and its op evaluated on values,
// magnitudes or errors of them.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "ops/elements.h"
#include "ops/evaluate.h"
#include "tests/support/attention_bound.h"
#include "tests/support/program_bound.h"

namespace hone::test {

struct Bounded {
  Tensor value;
  std::vector<double> error;  // per element; empty: exact
  bool exact() const { return error.empty(); }
};

class BoundedNode {
 public:
  BoundedNode(const OpDef& op, const Attributes& attributes, std::vector<const Bounded*> operands, DistanceFrom from)
      : op_(op), attributes_(attributes), operands_(std::move(operands)), from_(from) {}

 protected:
  using Errors = std::vector<double>;
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();

  bool has(size_t i) const { return i < operands_.size() && operands_[i]; }
  const Tensor& operand(size_t i) const { return operands_[i]->value; }
  bool all_exact() const {
    return std::all_of(operands_.begin(), operands_.end(), [](const Bounded* x) { return !x || x->exact(); });
  }
  Errors unknown() const { return Errors(static_cast<size_t>(value_->elements()), kUnknown); }

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

  static double largest_magnitude(const Tensor& x) {
    double most = 0;
    for (const double v : x.to_doubles()) most = std::max(most, std::abs(v));
    return most;
  }

  ErrorRow operand_row(size_t i) const {
    if (!has(i)) return {};
    return {operand(i).to_doubles(), errors(*operands_[i]).to_doubles()};
  }

  const OpDef& op_;
  const Attributes& attributes_;
  std::vector<const Bounded*> operands_;
  DistanceFrom from_;
  const Tensor* value_ = nullptr;
};

}  // namespace hone::test
