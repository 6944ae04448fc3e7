// Symbolic derivative, operand by operand (chain rule). A derivative that is zero whatever the values is an empty Expr,
// so that no term of it is ever built: 0 * x could not be removed later, as it is NaN for an infinite x.
#include <numbers>
#include <unordered_map>

#include "base/error.h"
#include "expr/node.h"

namespace hone {
namespace {

class Differentiator {
 public:
  explicit Differentiator(int position) : position_(position) {}

  Expr visit(const Expr& e) {
    if (!is_float(e.type())) return {};  // whole numbers and booleans change in jumps only
    if (e.op() == ExprOp::arg) return e.position() == position_ ? Expr::number(e.type(), 1) : Expr();
    if (e.operands().empty()) return {};
    if (const auto known = done_.find(e.identity()); known != done_.end()) return known->second;
    return done_.emplace(e.identity(), rule(e)).first->second;
  }

 private:
  static Expr or_zero(const Expr& d, Scalar type) { return d ? d : Expr::number(type, 0); }
  static Expr sum(const Expr& a, const Expr& b) { return a && b ? a + b : a ? a : b; }
  static Expr product(const Expr& factor, const Expr& d) { return d ? factor * d : Expr(); }

  Expr rule(const Expr& e) {
    const std::span<const Expr> x = e.operands();
    switch (x.size()) {
      case 1:
        return unary(e, x[0], visit(x[0]));
      case 2:
        return binary(e, x[0], x[1], visit(x[0]), visit(x[1]));
      default:
        break;
    }
    if (e.op() == ExprOp::fma) return sum(sum(product(x[1], visit(x[0])), product(x[0], visit(x[1]))), visit(x[2]));
    CHECK(e.op() == ExprOp::select);
    return choose(x[0], visit(x[1]), visit(x[2]), e.type());
  }

  static Expr choose(const Expr& condition, const Expr& a, const Expr& b, Scalar type) {
    if (!a && !b) return {};
    return select(condition, or_zero(a, type), or_zero(b, type));
  }

  static Expr unary(const Expr& e, const Expr& x, const Expr& d) {
    if (!d) return {};
    switch (e.op()) {
      case ExprOp::neg:
        return -d;
      case ExprOp::abs:
        return select(x > 0, d, choose(x < 0, -d, Expr(), e.type()));
      case ExprOp::sqrt:
        return d * 0.5 / e;
      case ExprOp::exp:
        return d * e;
      case ExprOp::log:
        return d / x;
      case ExprOp::tanh:
        return d * (1 - e * e);
      case ExprOp::erf:
        return d * (2 * std::numbers::inv_sqrtpi * exp(-(x * x)));
      case ExprOp::sin:
        return d * cos(x);
      case ExprOp::cos:
        return -(d * sin(x));
      case ExprOp::cast:
        return cast(e.type(), d);
      case ExprOp::lookup:
      case ExprOp::bitcast:
      case ExprOp::floor:
      case ExprOp::ceil:
      case ExprOp::trunc:
      case ExprOp::rint:
        return {};
      default:
        CHECK(false, "no derivative of {}", to_string(e.op()));
    }
  }

  static Expr binary(const Expr& e, const Expr& a, const Expr& b, const Expr& d_a, const Expr& d_b) {
    if (!d_a && !d_b) return {};
    switch (e.op()) {
      case ExprOp::add:
        return sum(d_a, d_b);
      case ExprOp::sub:
        return !d_b ? d_a : !d_a ? -d_b : d_a - d_b;
      case ExprOp::mul:
        return sum(product(b, d_a), product(a, d_b));
      case ExprOp::div:
        return quotient(e, b, d_a, d_b);
      case ExprOp::min:
        return nearer(a < b, b < a, d_a, d_b, e.type());
      case ExprOp::max:
        return nearer(b < a, a < b, d_a, d_b, e.type());
      case ExprOp::pow:
        return power(e, a, b, d_a, d_b);
      default:
        CHECK(false, "no derivative of {}", to_string(e.op()));
    }
  }

  // (a / b)' = (a' - (a / b) b') / b
  static Expr quotient(const Expr& e, const Expr& b, const Expr& d_a, const Expr& d_b) {
    if (!d_b) return d_a / b;
    const Expr taken = e * d_b;
    return (d_a ? d_a - taken : -taken) / b;
  }

  // The side that is chosen; half of each at a tie.
  static Expr nearer(const Expr& first, const Expr& second, const Expr& d_a, const Expr& d_b, Scalar type) {
    const Expr tie = sum(product(Expr::number(type, 0.5), d_a), product(Expr::number(type, 0.5), d_b));
    return select(first, or_zero(d_a, type), select(second, or_zero(d_b, type), tie));
  }

  // x^y: y x^(y-1) x' + x^y ln(x) y'. Where the plain product would be 0 * infinity the factor is 0: y = 0 in the first
  // term, x^y = 0 in the second.
  static Expr power(const Expr& e, const Expr& x, const Expr& y, const Expr& d_x, const Expr& d_y) {
    Expr by_base, by_exponent;
    if (d_x) by_base = select(y == 0, 0, y * pow(x, y - 1)) * d_x;
    if (d_y) by_exponent = select(e == 0, 0, e * log(x)) * d_y;
    return sum(by_base, by_exponent);
  }

  int position_;
  std::unordered_map<const void*, Expr> done_;
};

}  // namespace

Expr derivative(const Expr& e, int position) {
  if (e.is_literal()) return 0;
  const Expr d = Differentiator(position).visit(e);
  return d ? d : Expr::constant(e.type(), 0);
}

}  // namespace hone
