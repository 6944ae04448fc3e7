#include "expr/literal.h"

#include <bit>
#include <cmath>

#include "base/error.h"
#include "expr/kernels.h"
#include "expr/node.h"

namespace hone {
namespace {

Expr make_literal(Literal kind, uint64_t payload) {
  return ExprBuilder::wrap({.op = ExprOp::constant, .type = Scalar::f32, .literal = kind, .payload = payload});
}

bool is_integer_literal(const Expr& e) { return ExprBuilder::node(e).literal == Literal::integer; }

// Whether the integers of `type` include this whole number.
bool holds(Scalar type, double value) {
  if (type == Scalar::boolean) return value == 0 || value == 1;
  const double past_largest = std::ldexp(1.0, width_bits(type) - (is_signed(type) ? 1 : 0));
  return std::trunc(value) == value && value < past_largest && value >= (is_signed(type) ? -past_largest : 0.0);
}

bool holds(Scalar type, int64_t value) {
  if (type == Scalar::i64) return true;
  if (type == Scalar::u64) return value >= 0;
  return holds(type, static_cast<double>(value));  // a 32-bit limit is far from where f64 rounds
}

}  // namespace

Expr::Expr(int literal) : Expr(static_cast<int64_t>(literal)) {}
Expr::Expr(uint32_t literal) : Expr(static_cast<int64_t>(literal)) {}
Expr::Expr(int64_t literal) : Expr(make_literal(Literal::integer, static_cast<uint64_t>(literal))) {}
Expr::Expr(float literal) : Expr(static_cast<double>(literal)) {}
Expr::Expr(double literal) : Expr(make_literal(Literal::real, std::bit_cast<uint64_t>(literal))) {}

bool Expr::is_literal() const { return ExprBuilder::node(*this).literal != Literal::none; }

Expr typed(Scalar type, Expr x) {
  if (!x.is_literal()) {
    CHECK(x.type() == type, "{} where {} is expected in {}; use cast", to_string(x.type()), to_string(type),
          to_string(x));
    return x;
  }
  const uint64_t payload = ExprBuilder::node(x).payload;
  const Scalar held = is_integer_literal(x) ? Scalar::i64 : Scalar::f64;
  if (!is_float(type)) {
    const bool exact = held == Scalar::i64 ? holds(type, static_cast<int64_t>(payload)) : holds(type, x.value());
    CHECK(exact, "{} can't hold the literal {}", to_string(type), to_string(x));
  }
  return Expr::constant(type, fold(ExprOp::cast, type, held, {{payload}}));
}

Expr fold_literals(ExprOp op, const std::vector<Expr>& operands) {
  bool integers = op != ExprOp::div;
  for (const Expr& e : operands) integers &= is_integer_literal(e);
  const bool comparison = op >= ExprOp::eq && op <= ExprOp::le;
  if (integers && !find_kernel(op, comparison ? Scalar::boolean : Scalar::i64, Scalar::i64)) integers = false;
  const Scalar held = integers ? Scalar::i64 : Scalar::f64, result = comparison ? Scalar::boolean : held;
  CHECK(find_kernel(op, result, held) && op != ExprOp::mulhi, "{} of literals only; give one a type with typed()",
        to_string(op));
  std::vector<uint64_t> bits;
  for (const Expr& e : operands)
    bits.push_back(integers ? ExprBuilder::node(e).payload : std::bit_cast<uint64_t>(e.value()));
  const uint64_t folded = fold(op, result, held, bits);
  if (comparison) return Expr::constant(result, folded);
  return make_literal(integers ? Literal::integer : Literal::real, folded);
}

Scalar adopt_common_type(ExprOp op, std::vector<Expr>& operands) {
  Scalar type = Scalar::f32;
  const Expr* first = nullptr;
  for (const Expr& e : operands) {
    if (e.is_literal()) continue;
    if (!first) first = &e, type = e.type();
    CHECK(e.type() == type, "{} of {} and {}: {} beside {}; use cast", to_string(op), to_string(type),
          to_string(e.type()), to_string(*first), to_string(e));
  }
  for (Expr& e : operands) e = typed(type, e);
  return type;
}

}  // namespace hone
