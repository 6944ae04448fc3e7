// Arithmetic on elements, with NumPy broadcasting. Operands have one element type; integers wrap, and divide toward
// zero.
#include <limits>

#include "ops/pointwise_args.h"

namespace hone {
namespace {

// By squaring, as far as exponents can matter: from 63 on every base but -1, 0 and 1 overflows, and for those only
// whether the exponent is odd counts. A negative exponent gives 1 / a^|b|, truncated: 0 but for the bases -1 and 1.
Expr integer_power(const Expr& base, const Expr& exponent) {
  const Expr odd = (exponent & 1) != 0, small = select(exponent < 64, exponent, 62 + (exponent & 1));
  Expr power = typed(base.type(), 1), factor = base;
  for (int bit = 0; bit < 6; ++bit, factor = factor * factor)
    power = select((small & (1 << bit)) != 0, power * factor, power);
  if (!is_signed(base.type())) return power;
  const Expr of_minus_one = select(odd, typed(base.type(), -1), typed(base.type(), 1));
  const Expr truncated = select(base == 1, 1, select(base == -1, of_minus_one, 0));
  return select(exponent < 0, truncated, power);
}

Expr power(Args a) {
  if (is_integer(a.dtypes[0]) && is_integer(a.dtypes[1])) return integer_power(a[0], a[1]);
  return pow(real_operand(a, 0), real_operand(a, 1));
}

// a - trunc(a / b) * b without rounding. A quotient that is rounded leaves a remainder which fma still gets exactly and
// which is 2^-23 of a at most (f64: 2^-52); the second round leaves less than b, and one b too little where the
// quotient was rounded up to a whole number.
Expr float_remainder(const Expr& a, const Expr& b) {
  const auto constant = [&](double value) { return Expr::number(a.type(), value); };
  Expr r = a;
  for (int round = 0; round < 2; ++round) r = fma(-trunc(r / b), b, r);
  r = select((r < 0) & (a > 0), r + abs(b), select((r > 0) & (a < 0), r - abs(b), r));
  r = select(abs(r) < abs(b), r, constant(std::numeric_limits<double>::quiet_NaN()));
  const double infinity = std::numeric_limits<double>::infinity();
  return select((abs(b) == constant(infinity)) & (abs(a) < constant(infinity)), a, r);
}

Expr truncated_remainder(Args a) {
  const Expr &dividend = number_operand(a, 0), &divisor = number_operand(a, 1);
  return is_float(a.dtypes[0]) ? float_remainder(dividend, divisor) : dividend % divisor;
}

Expr floored_remainder(Args a) {
  const Expr r = truncated_remainder(a);
  if (is_unsigned(a.dtypes[0])) return r;
  const Expr moved = select((r != 0) & ((r < 0) != (a[1] < 0)), r + a[1], r);
  if (!is_float(a.dtypes[0])) return moved;
  const auto zero = [&](double value) { return Expr::number(r.type(), value); };
  return select(r == 0, select(a[1] < 0, zero(-0.0), zero(0.0)), moved);
}

}  // namespace

extern constinit const OpDef add_def{.name = "add", .doc = "a + b", .operands = {"a", "b"}, .pointwise = [](Args a) {
                                       return number_operand(a, 0) + number_operand(a, 1);
                                     }};
extern constinit const OpDef sub_def{.name = "sub", .doc = "a - b", .operands = {"a", "b"}, .pointwise = [](Args a) {
                                       return number_operand(a, 0) - number_operand(a, 1);
                                     }};
extern constinit const OpDef mul_def{.name = "mul", .doc = "a * b", .operands = {"a", "b"}, .pointwise = [](Args a) {
                                       return number_operand(a, 0) * number_operand(a, 1);
                                     }};
extern constinit const OpDef div_def{.name = "div",
                                     .doc = "a / b; integers truncate toward zero, and x / 0 is 0 for them.",
                                     .operands = {"a", "b"},
                                     .pointwise = [](Args a) { return number_operand(a, 0) / number_operand(a, 1); }};
extern constinit const OpDef min_def{
    .name = "min", .doc = "The smaller of a and b; NaN if either is.", .operands = {"a", "b"}, .pointwise = [](Args a) {
      return min(number_operand(a, 0), number_operand(a, 1));
    }};
extern constinit const OpDef max_def{
    .name = "max", .doc = "The larger of a and b; NaN if either is.", .operands = {"a", "b"}, .pointwise = [](Args a) {
      return max(number_operand(a, 0), number_operand(a, 1));
    }};
extern constinit const OpDef pow_def{
    .name = "pow",
    .doc = "a to the power b: floats as C's pow; integers wrap, and truncate where b is negative.",
    .operands = {"a", "b"},
    .pointwise = power};
extern constinit const OpDef fmod_def{
    .name = "fmod",
    .doc =
        "The exact remainder a - trunc(a / b) * b, with the sign of a, as C's fmod; NaN where |a / b| is past 2^46 "
        "(f64: 2^104). Integers: x mod 0 is x.",
    .operands = {"a", "b"},
    .pointwise = truncated_remainder};
extern constinit const OpDef mod_def{
    .name = "mod",
    .doc = "The remainder a - floor(a / b) * b, with the sign of b, zeros too; otherwise as fmod.",
    .operands = {"a", "b"},
    .pointwise = floored_remainder};
extern constinit const OpDef neg_def{
    .name = "neg", .doc = "-x", .pointwise = [](Args a) { return -number_operand(a, 0); }};
extern constinit const OpDef abs_def{.name = "abs", .doc = "|x|", .pointwise = [](Args a) {
                                       return is_unsigned(a.dtypes[0]) ? a[0] : abs(number_operand(a, 0));
                                     }};
extern constinit const OpDef reciprocal_def{
    .name = "reciprocal", .doc = "1 / x; floats only.", .pointwise = [](Args a) { return 1 / real_operand(a, 0); }};
extern constinit const OpDef sign_def{
    .name = "sign", .doc = "-1, 0 or 1 with the sign of x; NaN and -0 stay what they are.", .pointwise = [](Args a) {
      const Expr& x = number_operand(a, 0);
      if (is_unsigned(a.dtypes[0])) return min(x, 1);
      return select(x > 0, typed(x.type(), 1), select(x < 0, typed(x.type(), -1), x));
    }};

}  // namespace hone
