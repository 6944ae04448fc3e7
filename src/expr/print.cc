// Expressions as C-like text, with the fewest parentheses.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "base/error.h"
#include "expr/node.h"

namespace hone {
namespace {

// C++ precedence; higher binds tighter.
struct Infix {
  const char* symbol;
  int precedence;
};
constexpr int kUnary = 12, kPrimary = 13;

Infix infix(ExprOp op) {
  switch (op) {
    case ExprOp::mul:
      return {"*", 11};
    case ExprOp::div:
      return {"/", 11};
    case ExprOp::rem:
      return {"%", 11};
    case ExprOp::add:
      return {"+", 10};
    case ExprOp::sub:
      return {"-", 10};
    case ExprOp::shl:
      return {"<<", 9};
    case ExprOp::shr:
      return {">>", 9};
    case ExprOp::lt:
      return {"<", 8};
    case ExprOp::le:
      return {"<=", 8};
    case ExprOp::eq:
      return {"==", 7};
    case ExprOp::ne:
      return {"!=", 7};
    case ExprOp::bit_and:
      return {"&", 6};
    case ExprOp::bit_xor:
      return {"^", 5};
    case ExprOp::bit_or:
      return {"|", 4};
    default:
      return {nullptr, 0};
  }
}

template <class T>
std::string float_text(T value, const char* type, const char* suffix) {
  if (!std::isfinite(value)) return fmt::format("{}({})", type, std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
  return fmt::format("{}{}", value, suffix);
}

// f64 shows a point or an exponent, which tells it from i32.
std::string f64_text(double value) {
  std::string text = float_text(value, "f64", "");
  return std::isfinite(value) && text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string bits_text(Scalar type, uint64_t bits) {
  switch (type) {
    case Scalar::f32:
      return float_text(std::bit_cast<float>(static_cast<uint32_t>(bits)), "f32", "f");
    case Scalar::f64:
      return f64_text(std::bit_cast<double>(bits));
    case Scalar::i32:
      return fmt::format("{}", static_cast<int32_t>(bits));
    case Scalar::u32:
      return fmt::format("{}u", bits);
    case Scalar::i64:
      return fmt::format("{}l", static_cast<int64_t>(bits));
    case Scalar::u64:
      return fmt::format("{}ul", bits);
    case Scalar::boolean:
      return bits ? "true" : "false";
  }
  CHECK(false);
}

std::string constant_text(const Expr& e) {
  const Expr::Node& node = ExprBuilder::node(e);
  if (node.literal == Literal::integer) return fmt::format("{}", static_cast<int64_t>(node.payload));
  return bits_text(node.literal == Literal::real ? Scalar::f64 : node.type, node.payload);
}

std::string text_of(const Expr& e, int least_precedence);

std::string call_text(const std::string& function, std::span<const Expr> operands) {
  std::string text = function + "(";
  for (size_t i = 0; i < operands.size(); ++i) text += (i ? ", " : "") + text_of(operands[i], 0);
  return text + ")";
}

std::string table_text(const Expr& e) {
  std::string text = "{";
  for (size_t i = 0; i < e.table().size(); ++i) text += (i ? ", " : "") + bits_text(e.type(), e.table()[i]);
  return text + "}";
}

std::string primary_text(const Expr& e) {
  switch (e.op()) {
    case ExprOp::arg:
      return fmt::format("x{}", e.position());
    case ExprOp::index:
      return "index";
    case ExprOp::cast:
      return call_text(std::string(to_string(e.type())), e.operands());
    case ExprOp::bitcast:
      return call_text(fmt::format("bitcast<{}>", to_string(e.type())), e.operands());
    case ExprOp::lookup:
      return fmt::format("lookup({}, {})", table_text(e), text_of(e.operands()[0], 0));
    default:
      return call_text(std::string(to_string(e.op())), e.operands());
  }
}

std::string text_of(const Expr& e, int least_precedence) {
  const std::span<const Expr> operands = e.operands();
  std::string text;
  int precedence = kPrimary;
  if (const Infix op = infix(e.op()); op.symbol) {
    precedence = op.precedence;
    text = fmt::format("{} {} {}", text_of(operands[0], precedence), op.symbol, text_of(operands[1], precedence + 1));
  } else if (e.op() == ExprOp::neg || e.op() == ExprOp::bit_not) {
    precedence = kUnary;
    text = (e.op() == ExprOp::neg ? "-" : "~") + text_of(operands[0], kPrimary);
  } else if (e.op() == ExprOp::constant) {
    text = constant_text(e);
    if (text[0] == '-') precedence = kUnary;
  } else {
    text = primary_text(e);
  }
  return precedence < least_precedence ? "(" + text + ")" : text;
}

}  // namespace

std::string to_string(const Expr& e) { return text_of(e, 0); }

}  // namespace hone
