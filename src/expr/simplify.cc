#include "expr/simplify.h"

#include <bit>

#include "expr/kernels.h"
#include "expr/node.h"

namespace hone {
namespace {

// `value` is a number that every type asked about holds; -0.0 differs from 0.0 for floats.
bool is(const Expr& e, double value) {
  return is_constant(e) && e.bits() == fold(ExprOp::cast, e.type(), Scalar::f64, {{std::bit_cast<uint64_t>(value)}});
}

bool is_all_ones(const Expr& e) { return is_constant(e) && e.bits() == ~uint64_t{0} >> (64 - width_bits(e.type())); }

bool same(const Expr& a, const Expr& b) {
  if (a.identity() == b.identity()) return true;
  if (a.op() != b.op() || a.type() != b.type()) return false;
  if (a.op() == ExprOp::index) return true;
  if (a.op() == ExprOp::arg) return a.position() == b.position();
  return is_constant(a) && is_constant(b) && a.bits() == b.bits();
}

Expr zero(Scalar type) { return Expr::constant(type, 0); }
Expr boolean(bool value) { return Expr::constant(Scalar::boolean, value); }

bool is_rounding(ExprOp op) {
  return op == ExprOp::floor || op == ExprOp::ceil || op == ExprOp::trunc || op == ExprOp::rint;
}

// Whether every value of `type` survives a cast to `wide` and back.
bool round_trips(Scalar type, Scalar wide) {
  if (type == Scalar::boolean) return true;
  if (wide == Scalar::boolean) return false;
  if (is_float(type)) return type == Scalar::f32 && wide == Scalar::f64;
  if (is_float(wide)) return width_bits(type) == 32 && wide == Scalar::f64;
  return width_bits(wide) >= width_bits(type);
}

Expr simplify_not(const Expr& x) {
  const std::span<const Expr> inner = x.operands();
  switch (x.op()) {
    case ExprOp::bit_not:
      return inner[0];
    case ExprOp::eq:
      return inner[0] != inner[1];
    case ExprOp::ne:
      return inner[0] == inner[1];
    case ExprOp::lt:
      return is_float(inner[0].type()) ? Expr() : inner[1] <= inner[0];
    case ExprOp::le:
      return is_float(inner[0].type()) ? Expr() : inner[1] < inner[0];
    default:
      return {};
  }
}

Expr simplify_unary(ExprOp op, Scalar type, const Expr& x) {
  switch (op) {
    case ExprOp::neg:
      return x.op() == ExprOp::neg ? x.operands()[0] : Expr();
    case ExprOp::abs:
      if (is_integer(type) && !is_signed(type)) return x;
      if (x.op() == ExprOp::neg) return abs(x.operands()[0]);
      return x.op() == ExprOp::abs ? x : Expr();
    case ExprOp::floor:
    case ExprOp::ceil:
    case ExprOp::trunc:
    case ExprOp::rint: {
      const bool whole = is_rounding(x.op()) || (x.op() == ExprOp::cast && !is_float(x.operands()[0].type()));
      return whole ? x : Expr();
    }
    case ExprOp::bit_not:
      return simplify_not(x);
    case ExprOp::cast: {
      if (x.op() != ExprOp::cast) return {};
      const Expr& source = x.operands()[0];
      return source.type() == type && round_trips(type, x.type()) ? source : Expr();
    }
    case ExprOp::bitcast:
      return x.op() == ExprOp::bitcast ? bitcast(type, x.operands()[0]) : Expr();
    default:
      return {};
  }
}

// x + -0 = x holds for both zeros, x + 0 = x only for integers.
Expr simplify_add(Scalar type, const Expr& a, const Expr& b) {
  if (is(b, is_float(type) ? -0.0 : 0.0)) return a;
  if (is(a, is_float(type) ? -0.0 : 0.0)) return b;
  if (b.op() == ExprOp::neg) return a - b.operands()[0];
  if (a.op() == ExprOp::neg) return b - a.operands()[0];
  return {};
}

Expr simplify_sub(Scalar type, const Expr& a, const Expr& b) {
  if (is(b, 0.0)) return a;
  if (is(a, is_float(type) ? -0.0 : 0.0)) return -b;
  if (b.op() == ExprOp::neg) return a + b.operands()[0];
  if (!is_float(type) && same(a, b)) return zero(type);
  return {};
}

// `number` is the constant side.
Expr simplify_mul(Scalar type, const Expr& x, const Expr& number) {
  if (is(number, 1)) return x;
  if (is_float(type)) return is(number, -1) ? -x : Expr();
  return is(number, 0) ? number : Expr();
}

Expr simplify_div(ExprOp op, Scalar type, const Expr& a, const Expr& b) {
  if (is(b, 1)) return op == ExprOp::div ? a : zero(type);
  if (is_float(type)) return is(b, -1) ? -a : Expr();
  if (is(b, 0)) return op == ExprOp::div ? b : a;
  return {};
}

// For f32 a square is exact in f64 and both forms round it once.
Expr simplify_pow(Scalar type, const Expr& x, const Expr& y) {
  if (is(y, 0.0) || is(y, -0.0)) return Expr::number(type, 1);
  if (is(y, 1)) return x;
  return type == Scalar::f32 && is(y, 2) ? x * x : Expr();
}

Expr simplify_bits(ExprOp op, const Expr& a, const Expr& b) {
  if (same(a, b)) return op == ExprOp::bit_xor ? zero(a.type()) : a;
  for (const auto& [x, number] : {std::pair(a, b), std::pair(b, a)}) {
    if (is(number, 0)) return op == ExprOp::bit_and ? number : x;
    if (is_all_ones(number)) return op == ExprOp::bit_and ? x : op == ExprOp::bit_or ? number : ~x;
  }
  return {};
}

Expr simplify_comparison(ExprOp op, const Expr& a, const Expr& b) {
  if (same(a, b) && (op == ExprOp::lt || !is_float(a.type()))) return boolean(op == ExprOp::eq || op == ExprOp::le);
  if (a.type() != Scalar::boolean) return {};
  for (const auto& [x, number] : {std::pair(a, b), std::pair(b, a)})
    if (is_constant(number)) return (number.bits() == 1) == (op == ExprOp::eq) ? x : ~x;
  return {};
}

Expr simplify_select(const Expr& condition, const Expr& a, const Expr& b) {
  if (is_constant(condition)) return condition.bits() ? a : b;
  if (same(a, b)) return a;
  if (condition.op() == ExprOp::bit_not) return select(condition.operands()[0], b, a);
  if (a.type() == Scalar::boolean && is(a, 1) && is(b, 0)) return condition;
  if (a.type() == Scalar::boolean && is(a, 0) && is(b, 1)) return ~condition;
  return {};
}

Expr simplify_binary(ExprOp op, Scalar type, const Expr& a, const Expr& b) {
  switch (op) {
    case ExprOp::add:
      return simplify_add(type, a, b);
    case ExprOp::sub:
      return simplify_sub(type, a, b);
    case ExprOp::mul:
      if (Expr e = simplify_mul(type, a, b)) return e;
      return simplify_mul(type, b, a);
    case ExprOp::div:
    case ExprOp::rem:
      return simplify_div(op, type, a, b);
    case ExprOp::min:
    case ExprOp::max:
      return same(a, b) ? a : Expr();
    case ExprOp::pow:
      return simplify_pow(type, a, b);
    case ExprOp::mulhi:
      return is(a, 0) || is(b, 0) ? zero(type) : Expr();
    case ExprOp::bit_and:
    case ExprOp::bit_or:
    case ExprOp::bit_xor:
      return simplify_bits(op, a, b);
    case ExprOp::shl:
    case ExprOp::shr:
      return is(b, 0) ? a : Expr();
    case ExprOp::eq:
    case ExprOp::ne:
    case ExprOp::lt:
    case ExprOp::le:
      return simplify_comparison(op, a, b);
    default:
      return {};
  }
}

}  // namespace

Expr simplify(ExprOp op, Scalar type, std::span<const Expr> operands) {
  if (op == ExprOp::select) return simplify_select(operands[0], operands[1], operands[2]);
  if (operands.size() == 1) return simplify_unary(op, type, operands[0]);
  if (operands.size() == 2) return simplify_binary(op, type, operands[0], operands[1]);
  return {};
}

}  // namespace hone
