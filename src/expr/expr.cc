// Nodes, type rules and the operators that build them.
#include "expr/expr.h"

#include <array>
#include <bit>

#include "base/error.h"
#include "expr/kernels.h"
#include "expr/literal.h"
#include "expr/node.h"
#include "expr/simplify.h"

namespace hone {

std::string_view to_string(Scalar type) {
  constexpr std::array<std::string_view, 7> kNames{"f32", "f64", "i32", "u32", "i64", "u64", "bool"};
  CHECK(static_cast<size_t>(type) < kNames.size());
  return kNames[static_cast<size_t>(type)];
}

std::string_view to_string(ExprOp op) {
  constexpr std::array<std::string_view, 41> kNames{
      "constant", "arg",     "index", "neg", "abs", "floor", "ceil",    "trunc", "rint",    "sqrt",
      "exp",      "log",     "tanh",  "erf", "sin", "cos",   "bit_not", "cast",  "bitcast", "lookup",
      "add",      "sub",     "mul",   "div", "rem", "min",   "max",     "pow",   "mulhi",   "bit_and",
      "bit_or",   "bit_xor", "shl",   "shr", "eq",  "ne",    "lt",      "le",    "select",  "fma"};
  CHECK(static_cast<size_t>(op) <= static_cast<size_t>(ExprOp::fma));
  return kNames[static_cast<size_t>(op)];
}

int width_bits(Scalar type) {
  if (type == Scalar::boolean) return 1;
  return type == Scalar::f64 || type == Scalar::i64 || type == Scalar::u64 ? 64 : 32;
}

Expr ExprBuilder::wrap(Expr::Node node) { return Expr(std::make_shared<const Expr::Node>(std::move(node))); }

const Expr::Node& ExprBuilder::node(const Expr& e) {
  CHECK(e.node_, "an empty Expr was read");
  return *e.node_;
}

Expr Expr::arg(int position, Scalar type) {
  CHECK(position >= 0, "position {}", position);
  return ExprBuilder::wrap({.op = ExprOp::arg, .type = type, .payload = static_cast<uint64_t>(position)});
}

Expr Expr::index() { return ExprBuilder::wrap({.op = ExprOp::index, .type = Scalar::i64}); }

Expr Expr::constant(Scalar type, uint64_t bits) {
  CHECK(width_bits(type) == 64 || bits >> width_bits(type) == 0, "{:#x} has more bits than {}", bits, to_string(type));
  return ExprBuilder::wrap({.op = ExprOp::constant, .type = type, .payload = bits});
}

Expr Expr::number(Scalar type, double value) { return typed(type, Expr(value)); }

Scalar Expr::type() const { return ExprBuilder::node(*this).type; }
ExprOp Expr::op() const { return ExprBuilder::node(*this).op; }
std::span<const Expr> Expr::operands() const { return ExprBuilder::node(*this).operands; }
std::span<const uint64_t> Expr::table() const { return ExprBuilder::node(*this).table; }

uint64_t Expr::bits() const {
  CHECK(op() == ExprOp::constant, "bits of {}", to_string(op()));
  return is_literal() ? typed(type(), *this).bits() : ExprBuilder::node(*this).payload;
}

double Expr::value() const {
  CHECK(op() == ExprOp::constant, "value of {}", to_string(op()));
  const Node& node = ExprBuilder::node(*this);
  const Scalar held = node.literal == Literal::integer ? Scalar::i64
                      : node.literal == Literal::real  ? Scalar::f64
                                                       : node.type;
  return std::bit_cast<double>(fold(ExprOp::cast, Scalar::f64, held, {{node.payload}}));
}

int Expr::position() const {
  CHECK(op() == ExprOp::arg, "position of {}", to_string(op()));
  return static_cast<int>(ExprBuilder::node(*this).payload);
}

Expr build(ExprOp op, Scalar type, std::vector<Expr> operands, std::vector<uint64_t> table) {
  const Scalar operand = op == ExprOp::lookup ? type : operands[op == ExprOp::select ? 1 : 0].type();
  CHECK(find_kernel(op, type, operand), "{} is not defined from {} to {}", to_string(op), to_string(operand),
        to_string(type));
  bool all_constant = true;
  for (const Expr& e : operands) all_constant &= is_constant(e);
  if (all_constant) {
    std::vector<uint64_t> bits;
    for (const Expr& e : operands) bits.push_back(e.bits());
    return Expr::constant(type, fold(op, type, operand, bits, table));
  }
  if (Expr simpler = simplify(op, type, operands)) return simpler;
  return ExprBuilder::wrap({.op = op, .type = type, .operands = std::move(operands), .table = std::move(table)});
}

Expr rebuild(const Expr& e, std::vector<Expr> operands) {
  const std::span<const uint64_t> table = e.table();
  return build(e.op(), e.type(), std::move(operands), {table.begin(), table.end()});
}

namespace {

// Operands and result of one type, or a comparison of operands of one type.
Expr build_uniform(ExprOp op, std::vector<Expr> operands) {
  bool all_literal = true;
  for (const Expr& e : operands) all_literal &= e.is_literal();
  if (all_literal) return fold_literals(op, operands);
  const Scalar type = adopt_common_type(op, operands);
  const bool comparison = op >= ExprOp::eq && op <= ExprOp::le;
  return build(op, comparison ? Scalar::boolean : type, std::move(operands));
}

}  // namespace

Expr operator-(Expr x) { return build_uniform(ExprOp::neg, {x}); }
Expr operator~(Expr x) { return build_uniform(ExprOp::bit_not, {x}); }
Expr abs(Expr x) { return build_uniform(ExprOp::abs, {x}); }
Expr floor(Expr x) { return build_uniform(ExprOp::floor, {x}); }
Expr ceil(Expr x) { return build_uniform(ExprOp::ceil, {x}); }
Expr trunc(Expr x) { return build_uniform(ExprOp::trunc, {x}); }
Expr rint(Expr x) { return build_uniform(ExprOp::rint, {x}); }
Expr sqrt(Expr x) { return build_uniform(ExprOp::sqrt, {x}); }
Expr exp(Expr x) { return build_uniform(ExprOp::exp, {x}); }
Expr log(Expr x) { return build_uniform(ExprOp::log, {x}); }
Expr tanh(Expr x) { return build_uniform(ExprOp::tanh, {x}); }
Expr erf(Expr x) { return build_uniform(ExprOp::erf, {x}); }
Expr sin(Expr x) { return build_uniform(ExprOp::sin, {x}); }
Expr cos(Expr x) { return build_uniform(ExprOp::cos, {x}); }

Expr operator+(Expr a, Expr b) { return build_uniform(ExprOp::add, {a, b}); }
Expr operator-(Expr a, Expr b) { return build_uniform(ExprOp::sub, {a, b}); }
Expr operator*(Expr a, Expr b) { return build_uniform(ExprOp::mul, {a, b}); }
Expr operator/(Expr a, Expr b) { return build_uniform(ExprOp::div, {a, b}); }
Expr operator%(Expr a, Expr b) { return build_uniform(ExprOp::rem, {a, b}); }
Expr operator&(Expr a, Expr b) { return build_uniform(ExprOp::bit_and, {a, b}); }
Expr operator|(Expr a, Expr b) { return build_uniform(ExprOp::bit_or, {a, b}); }
Expr operator^(Expr a, Expr b) { return build_uniform(ExprOp::bit_xor, {a, b}); }
Expr operator<<(Expr a, Expr count) { return build_uniform(ExprOp::shl, {a, count}); }
Expr operator>>(Expr a, Expr count) { return build_uniform(ExprOp::shr, {a, count}); }
Expr operator==(Expr a, Expr b) { return build_uniform(ExprOp::eq, {a, b}); }
Expr operator!=(Expr a, Expr b) { return build_uniform(ExprOp::ne, {a, b}); }
Expr operator<(Expr a, Expr b) { return build_uniform(ExprOp::lt, {a, b}); }
Expr operator<=(Expr a, Expr b) { return build_uniform(ExprOp::le, {a, b}); }
Expr operator>(Expr a, Expr b) { return build_uniform(ExprOp::lt, {b, a}); }
Expr operator>=(Expr a, Expr b) { return build_uniform(ExprOp::le, {b, a}); }
Expr min(Expr a, Expr b) { return build_uniform(ExprOp::min, {a, b}); }
Expr max(Expr a, Expr b) { return build_uniform(ExprOp::max, {a, b}); }
Expr pow(Expr x, Expr y) { return build_uniform(ExprOp::pow, {x, y}); }
Expr mulhi(Expr a, Expr b) { return build_uniform(ExprOp::mulhi, {a, b}); }
Expr fma(Expr a, Expr b, Expr c) { return build_uniform(ExprOp::fma, {a, b, c}); }

Expr select(Expr condition, Expr a, Expr b) {
  condition = typed(Scalar::boolean, condition);
  if (is_constant(condition) && a.is_literal() && b.is_literal()) return condition.bits() ? a : b;
  std::vector<Expr> sides{a, b};
  const Scalar type = adopt_common_type(ExprOp::select, sides);
  return build(ExprOp::select, type, {condition, sides[0], sides[1]});
}

Expr cast(Scalar type, Expr x) {
  if (x.is_literal()) x = typed(ExprBuilder::node(x).literal == Literal::integer ? Scalar::i64 : Scalar::f64, x);
  return x.type() == type ? x : build(ExprOp::cast, type, {x});
}

Expr bitcast(Scalar type, Expr x) {
  if (x.is_literal()) {
    const bool wide = width_bits(type) == 64, integer = ExprBuilder::node(x).literal == Literal::integer;
    x = typed(integer ? (wide ? Scalar::i64 : Scalar::i32) : (wide ? Scalar::f64 : Scalar::f32), x);
  }
  return x.type() == type ? x : build(ExprOp::bitcast, type, {x});
}

Expr lookup(std::vector<Expr> constants, Expr index) {
  CHECK(!constants.empty() && constants.size() <= 256, "a lookup table of {} entries; 1 to 256 are accepted",
        constants.size());
  const Scalar type = adopt_common_type(ExprOp::lookup, constants);
  std::vector<uint64_t> table;
  for (const Expr& e : constants) {
    CHECK(is_constant(e), "the table entry {} is not a constant", to_string(e));
    table.push_back(e.bits());
  }
  return build(ExprOp::lookup, type, {typed(Scalar::u32, index)}, std::move(table));
}

}  // namespace hone
