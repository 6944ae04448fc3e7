// Running error analysis of an element expression: how far its value may lie from the reference's when the operands are
// off by given amounts. Generated code rounds every operation as the reference does, so exact operands give exact
// results; only exp log tanh erf sin cos pow differ on their own, by what expr.h allows. From real numbers every
// operation that rounds differs.
#pragma once

#include <algorithm>
#include <limits>

#include "tests/support/bound.h"
#include "tests/support/naive_scalar.h"

namespace hone::test {

inline bool is_transcendental(ExprOp op) { return (op >= ExprOp::exp && op <= ExprOp::cos) || op == ExprOp::pow; }
inline bool has_transcendental(const Program& program) {
  return std::any_of(program.code.begin(), program.code.end(),
                     [](const Instruction& in) { return is_transcendental(in.op); });
}

enum class DistanceFrom : uint8_t { generated_code, real_numbers };

class ProgramBound {
 public:
  explicit ProgramBound(const Program& program, DistanceFrom from = DistanceFrom::generated_code)
      : program_(program), from_(from) {}

  // Bound of the first result. args: bit patterns the reference reads; errors: how far each may be off. A boolean or
  // integer that may differ at all has an error of at least 1.
  double operator()(const std::vector<uint64_t>& args, const std::vector<double>& errors) {
    bits_ = naive_values(program_, args, 0);
    errors_.clear();
    for (const Instruction& in : program_.code)
      errors_.push_back(in.op == ExprOp::arg ? errors[static_cast<size_t>(in.payload)] : error_of(in));
    return errors_[static_cast<size_t>(program_.results[0])];
  }

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();

  double error(int32_t i) const { return i < 0 ? 0 : errors_[static_cast<size_t>(i)]; }
  Scalar type(int32_t i) const { return program_.code[static_cast<size_t>(i)].type; }
  double value(int32_t i) const {
    const uint64_t x = bits_[static_cast<size_t>(i)];
    return is_float(type(i)) ? real(type(i), x) : static_cast<double>(whole(type(i), x));
  }

  // Casts are a part of what is computed.
  static bool rounds(const Instruction& in) {
    const bool sums_or_products = (in.op >= ExprOp::add && in.op <= ExprOp::div) || in.op == ExprOp::fma;
    return is_float(in.type) && (sums_or_products || in.op == ExprOp::sqrt);
  }

  bool is_zero(int32_t i) const { return value(i) == 0 && error(i) == 0; }

  // Products with 0, and sums of exact operands that are 0.
  bool is_exact_zero(const Instruction& in, bool of_exact) const {
    if (in.op == ExprOp::mul) return is_zero(in.a) || is_zero(in.b);
    const bool is_sum = in.op == ExprOp::add || in.op == ExprOp::sub;
    return is_sum && of_exact && value(static_cast<int32_t>(errors_.size())) == 0;
  }

  double error_of(const Instruction& in) const {
    if (in.op == ExprOp::constant || in.op == ExprOp::index) return 0;
    const bool exact = error(in.a) == 0 && error(in.b) == 0 && error(in.c) == 0;
    if (exact && !is_transcendental(in.op) && !(from_ == DistanceFrom::real_numbers && rounds(in))) return 0;
    if (is_exact_zero(in, exact)) return 0;
    const auto self = static_cast<int32_t>(errors_.size());
    if (in.op >= ExprOp::eq && in.op <= ExprOp::le && in.a == in.b) return 0;  // whether it is NaN
    if (in.op >= ExprOp::eq && in.op <= ExprOp::le)
      return std::abs(value(in.a) - value(in.b)) <= error(in.a) + error(in.b) ? 1 : 0;
    if (in.op == ExprOp::select) return selected(in);
    if (in.op == ExprOp::cast) return cast_error(in, self);
    if (in.type == Scalar::boolean) return 1;
    if (!is_float(in.type)) return kUnknown;
    const double propagated = exact ? 0 : real_error(in, self);
    if (!rounds(in) && !is_transcendental(in.op)) return propagated;
    const double eps = in.type == Scalar::f64 ? kEpsF64 : kEpsF32, magnitude = std::abs(value(self));
    const double ulps = !is_transcendental(in.op) ? 0 : in.type == Scalar::f64 ? 3 : kMaxUlpF32 + 0.5;
    const double smallest = in.type == Scalar::f64 ? 0 : 0x1p-149;  // the absolute error of a subnormal result
    return propagated + 2 * eps * (magnitude + propagated) * (1 + ulps) + (1 + ulps) * smallest;
  }

  double selected(const Instruction& in) const {
    if (error(in.a) > 0) return std::max(error(in.b), error(in.c)) + std::abs(value(in.b) - value(in.c));
    return error(bits_[static_cast<size_t>(in.a)] ? in.b : in.c);
  }

  double cast_error(const Instruction& in, int32_t self) const {
    const double x = value(in.a), e = error(in.a);
    if (in.type == Scalar::boolean) return e >= std::abs(x) ? 1 : 0;
    if (!is_float(in.type)) return largest_step(in, self, [](double v) { return std::trunc(v); });
    return both_rounded_bound(x, e, in.type == Scalar::f64 ? kEpsF64 : kEpsF32);
  }

  template <class Round>
  double largest_step(const Instruction& in, int32_t self, Round round) const {
    const double x = value(in.a), e = error(in.a), y = value(self);
    return std::max(std::abs(round(x - e) - y), std::abs(round(x + e) - y));
  }

  // By the derivative's largest value between the operands' limits.
  double real_error(const Instruction& in, int32_t self) const {
    const double a = value(in.a), ea = error(in.a);
    const double b = in.b < 0 ? 0 : value(in.b), eb = error(in.b), y = value(self);
    const double log_step = ea == 0 ? 0 : a > ea ? -std::log1p(-ea / a) : kUnknown;  // of log a
    switch (in.op) {
      case ExprOp::neg:
      case ExprOp::abs:
      case ExprOp::tanh:
      case ExprOp::sin:
      case ExprOp::cos:
        return ea;
      case ExprOp::erf:
        return 1.13 * ea;  // 2 / sqrt(pi) = 1.128...
      case ExprOp::add:
      case ExprOp::sub:
        return ea + eb;
      case ExprOp::mul:
        return std::abs(a) * eb + std::abs(b) * ea + ea * eb;
      case ExprOp::fma:
        return std::abs(a) * eb + std::abs(b) * ea + ea * eb + error(in.c);
      case ExprOp::div:
        return eb < std::abs(b) ? (ea + std::abs(a / b) * eb) / (std::abs(b) - eb) : kUnknown;
      case ExprOp::min:
      case ExprOp::max:
        return std::max(ea, eb);
      case ExprOp::sqrt:
        return std::sqrt(a + ea) - std::sqrt(std::max(a - ea, 0.0));
      case ExprOp::exp:
        return std::abs(y) * std::expm1(ea);
      case ExprOp::log:
        return log_step;
      case ExprOp::pow:
        if (eb == 0 && b >= 1 && b == std::trunc(b)) return std::pow(std::abs(a) + ea, b) - std::abs(y);
        return a > 0 ? std::abs(y) * std::expm1(std::abs(std::log(a)) * eb + (std::abs(b) + eb) * log_step) : kUnknown;
      case ExprOp::floor:
        return largest_step(in, self, [](double v) { return std::floor(v); });
      case ExprOp::ceil:
        return largest_step(in, self, [](double v) { return std::ceil(v); });
      case ExprOp::trunc:
        return largest_step(in, self, [](double v) { return std::trunc(v); });
      case ExprOp::rint:
        return largest_step(in, self, [](double v) { return std::nearbyint(v); });
      default:
        return kUnknown;
    }
  }

  const Program& program_;
  DistanceFrom from_;
  std::vector<uint64_t> bits_;
  std::vector<double> errors_;
};

}  // namespace hone::test
