// Formulas over values of a graph under construction, written as they read: `x - r * g / (sqrt(h) + 1e-6)` emits a node
// for each operation. A number becomes a constant of the other side's element type.
#pragma once

#include <type_traits>

#include "io/onnx/onnx_family.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/transcendental.h"

namespace hone::onnx {

template <class T>
concept Number = std::is_arithmetic_v<T>;

class Formula {
 public:
  Formula(OnnxNode& n, ValueId value) : n_(&n), value_(value) {}
  operator ValueId() const { return value_; }  // NOLINT: it is the value
  DType dtype() const { return n_->type(value_).dtype; }

  Formula apply(const OpDef& op, Attributes attributes = {}) const {
    return {*n_, n_->emit({&op, {value_}, std::move(attributes)})};
  }
  Formula apply(const OpDef& op, ValueId other, Attributes attributes = {}) const {
    return {*n_, n_->emit({&op, {value_, other}, std::move(attributes)})};
  }
  Formula cast(DType dtype) const { return {*n_, n_->cast(value_, dtype)}; }
  Formula number(double value) const { return {*n_, n_->scalar(value, dtype())}; }  // of this element type

  friend Formula operator+(Formula a, Formula b) { return a.apply(add_def, b); }
  friend Formula operator-(Formula a, Formula b) { return a.apply(sub_def, b); }
  friend Formula operator*(Formula a, Formula b) { return a.apply(mul_def, b); }
  friend Formula operator/(Formula a, Formula b) { return a.apply(div_def, b); }
  template <Number T>
  friend Formula operator+(Formula a, T b) {
    return a + a.number(b);
  }
  template <Number T>
  friend Formula operator*(Formula a, T b) {
    return a * a.number(b);
  }
  template <Number T>
  friend Formula operator/(Formula a, T b) {
    return a / a.number(b);
  }
  template <Number T>
  friend Formula operator*(T a, Formula b) {
    return b.number(a) * b;
  }
  template <Number T>
  friend Formula operator-(T a, Formula b) {
    return b.number(a) - b;
  }
  template <Number T>
  friend Formula operator/(T a, Formula b) {
    return b.number(a) / b;
  }

 private:
  OnnxNode* n_;
  ValueId value_;
};

inline Formula sqrt(Formula x) { return x.apply(sqrt_def); }
inline Formula square(Formula x) { return x * x; }

// x in a float type whose sums and squares neither overflow early nor lose digits: f32 for narrower floats, f64 for
// integers.
inline Formula widened(OnnxNode& n, ValueId x) {
  const DType dtype = n.type(x).dtype;
  return Formula(n, x).cast(!is_float(dtype) || dtype == DType::f64 ? DType::f64 : DType::f32);
}

}  // namespace hone::onnx
