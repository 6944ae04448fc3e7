// clang-format off
// Scalar expressions: the one language in which activations, losses, optimizers and the encode/decode rules of number
// formats are written, once. Readers: the interpreter (program.h), derivative(), the printer, and the LLVM emitter in
// code generation.
//
// Semantics. Every reader obeys them; tests/expr holds the readers to each other.
//   Types     f32 f64 (IEEE 754 binary32/64, round to nearest even, subnormals kept), i32 i64 (two's complement),
//             u32 u64, boolean.
//   Literals  A C++ number in an expression takes the type of the operand beside it: `0.5 * x` is f64 where x is. A
//             literal that the type can't hold exactly is rounded once (floats) or refused with Bug (integers).
//             Literals among themselves fold to a literal, whole numbers in i64 (not /), others in f64; a comparison
//             to a boolean. Where a type is needed and no operand gives one (both sides of a select, a result), f32.
//   Operands  Both sides of a binary operation have the same type; there are no implicit conversions (use cast).
//   + - *     Floats: one rounding each, never contracted into fma. Integers: wrap modulo 2^n.
//   / %       Floats: IEEE division; % is not defined. Integers: truncate toward zero; division by zero gives 0, and
//             the remainder then is the dividend; INT_MIN / -1 wraps to INT_MIN (remainder 0).
//   fma       a*b + c with one rounding (floats only).
//   mulhi     The upper half of the double-width integer product.
//   min max   Floats: if either side is NaN the result is NaN; min(-0, +0) = -0, max(-0, +0) = +0.
//   Compare   IEEE: every comparison with NaN is false, != is true. On booleans only == and !=.
//   select    select(c, a, b): both sides are evaluated; only the chosen one is returned.
//   & | ^ ~   Integers and booleans. << >>: the count is taken modulo the width; >> is arithmetic for signed, logical
//             for unsigned.
//   Rounding  floor ceil trunc, rint (ties to even). abs and negation only change the sign bit of floats (also of NaN).
//   cast      To a narrower float: one rounding. Float to integer: truncates; NaN gives 0; out of range saturates.
//             Integer to float: one rounding. Integer to integer: wraps or extends by the source's signedness. boolean
//             to number: 0 or 1; number to boolean: != 0.
//   bitcast   Same width only: f32 i32 u32, or f64 i64 u64.
//   sqrt      Correctly rounded. exp log tanh erf pow sin cos: f64 within 2 ulp, f32 within kMaxUlpF32 ulp of the exact
//             value (the interpreter computes in f64 and rounds once); special values as in C99 Annex F.
//   lookup    lookup(table, i): the i-th of at most 256 constants; i is u32 and is taken modulo the table's size
//             rounded up to a power of two; entries past the end are 0.
//   index     The element's position in the flattened output, i64.
//   NaN       Payloads and signs of NaN results are not specified (except by abs, negation, bitcast and select).
// clang-format on
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

enum class Scalar : uint8_t { f32, f64, i32, u32, i64, u64, boolean };

// One line a kind: leaves, one operand, two, three.
// clang-format off
enum class ExprOp : uint8_t {
  constant, arg, index,
  neg, abs, floor, ceil, trunc, rint, sqrt, exp, log, tanh, erf, sin, cos, bit_not, cast, bitcast, lookup,
  add, sub, mul, div, rem, min, max, pow, mulhi, bit_and, bit_or, bit_xor, shl, shr, eq, ne, lt, le,
  select, fma,
};
// clang-format on

// Largest error of a generated f32 exp log tanh erf pow sin cos (|x| < 2^15 for sin, cos), in units in the last place.
constexpr double kMaxUlpF32 = 4;

std::string_view to_string(Scalar type);
std::string_view to_string(ExprOp op);
int width_bits(Scalar type);  // boolean: 1
inline bool is_float(Scalar t) { return t == Scalar::f32 || t == Scalar::f64; }
inline bool is_signed(Scalar t) { return t == Scalar::i32 || t == Scalar::i64; }
inline bool is_integer(Scalar t) { return t >= Scalar::i32 && t <= Scalar::u64; }

// An immutable expression; copies share their nodes. Building simplifies: constants are folded by the interpreter's
// rules and identities that hold for every value, NaN and -0 included, are applied (x * 1, x - 0, ~~x, select(true, a,
// b), ...).
class Expr {
 public:
  Expr() = default;        // empty; only assignable
  Expr(int literal);       // NOLINT: literals are implicit
  Expr(uint32_t literal);  // NOLINT
  Expr(int64_t literal);   // NOLINT
  Expr(float literal);     // NOLINT
  Expr(double literal);    // NOLINT

  static Expr arg(int position, Scalar type);        // the position-th input element
  static Expr index();                               // i64
  static Expr constant(Scalar type, uint64_t bits);  // bits: the type's own pattern, zero-extended
  static Expr number(Scalar type, double value);     // rounded to the type

  explicit operator bool() const { return node_ != nullptr; }
  Scalar type() const;
  ExprOp op() const;
  bool is_literal() const;  // an untyped C++ number that has not met an operand
  std::span<const Expr> operands() const;
  uint64_t bits() const;                                // of a constant
  double value() const;                                 // of a constant, as a double
  int position() const;                                 // of an arg
  std::span<const uint64_t> table() const;              // of a lookup
  const void* identity() const { return node_.get(); }  // same node, same identity

  struct Node;

 private:
  explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  friend struct ExprBuilder;
  std::shared_ptr<const Node> node_;
};

Expr operator-(Expr x);
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator%(Expr a, Expr b);
Expr operator&(Expr a, Expr b);
Expr operator|(Expr a, Expr b);
Expr operator^(Expr a, Expr b);
Expr operator~(Expr x);  // on boolean: not
Expr operator<<(Expr a, Expr count);
Expr operator>>(Expr a, Expr count);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Expr b);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);

Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr abs(Expr x);
Expr floor(Expr x);
Expr ceil(Expr x);
Expr trunc(Expr x);
Expr rint(Expr x);
Expr sqrt(Expr x);
Expr exp(Expr x);
Expr log(Expr x);
Expr tanh(Expr x);
Expr erf(Expr x);
Expr sin(Expr x);
Expr cos(Expr x);
Expr pow(Expr x, Expr y);
Expr fma(Expr a, Expr b, Expr c);
Expr mulhi(Expr a, Expr b);
Expr select(Expr condition, Expr a, Expr b);
Expr cast(Scalar type, Expr x);
Expr bitcast(Scalar type, Expr x);
Expr lookup(std::vector<Expr> constants, Expr index);  // constants of one type
Expr typed(Scalar type, Expr x);  // x if it has the type; a literal becomes a constant of it; otherwise Bug

// d e / d arg(position). Piecewise rules: abs, min, max, select, floor... take the derivative of the branch that is
// taken, 0 at jumps; at a tie of min or max each side gets half; relu-like max(x, 0) therefore has derivative 0.5 at 0
// unless its op overrides it.
Expr derivative(const Expr& e, int position);

// e with arg(i) replaced by replacements[i] (types must match).
Expr substitute(const Expr& e, std::span<const Expr> replacements);

// Number of args e reads: one more than the highest position, 0 without args.
int arg_count(const Expr& e);

// One line, e.g. "0.5f * x0 * (1f + erf(x0 * 0.70710677f))". Shared nodes are repeated; use Program's text where that
// matters.
std::string to_string(const Expr& e);

}  // namespace hone
