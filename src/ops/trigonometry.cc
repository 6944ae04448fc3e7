// Trigonometric and hyperbolic functions beyond sin, cos and tanh, composed of what expressions have. Each keeps its
// relative accuracy near 0 and is finite wherever the exact value is.
#include <numbers>

#include "ops/pointwise_args.h"

namespace hone {
namespace {

// tan(a / 2) for t = tan(a).
Expr half_angle(Expr t) { return t / (1 + sqrt(1 + t * t)); }

// Two halvings bring a tangent of at most 1 down to tan(pi / 16) = 0.199, where the series t - t^3/3 + t^5/5 ... needs
// few terms: the first one left out is, relative to t, 0.199^10 / 11 = 9e-9 in f32 and 0.199^24 / 25 = 6e-19 in f64.
Expr arc_tangent(Expr x) {
  const Expr steep = abs(x) > 1;
  const Expr t = half_angle(half_angle(select(steep, 1 / x, x))), square = t * t;
  Expr series = Expr::number(x.type(), 0);
  for (int term = x.type() == Scalar::f64 ? 11 : 4; term > 0; --term)
    series = square * ((term % 2 ? -1.0 : 1.0) / (2 * term + 1) + series);
  const Expr angle = 4 * t * (1 + series);  // keeps -0
  const Expr right = Expr::number(x.type(), std::numbers::pi / 2);
  return select(steep, select(x < 0, -right, right) - angle, angle);
}

// log(1 + u) for u >= 0. The error of w = 1 + u is what w - 1 tells apart from u: log(w) * u / (w - 1) makes up for it.
Expr log_one_plus(Expr u) {
  const Expr w = 1 + u;
  return select(u < 1, select(w == 1, u, log(w) * (u / (w - 1))), log(w));
}

Expr with_sign_of(Expr magnitude, Expr x) { return select(x < 0, -magnitude, magnitude); }

// Near 0 by t = tanh(x / 2), where the difference of exponentials would cancel; elsewhere by h = exp(|x| / 2), whose
// square overflows no sooner than the result.
Expr hyperbolic_sine(Expr x) {
  const Expr t = tanh(0.5 * x), h = exp(0.5 * abs(x));
  return select(abs(x) < 1, 2 * t / (1 - t * t), with_sign_of(0.5 * h * h - 0.5 / h / h, x));
}

Expr hyperbolic_cosine(Expr x) {
  const Expr h = exp(0.5 * abs(x));
  return 0.5 * h * h + 0.5 / h / h;
}

// Past 2^30 the square root below is x to the last place of f64, and x^2 may overflow: log(2 x).
constexpr double kLarge = 0x1p30;
Expr log_of_twice(Expr x) { return log(x) + std::numbers::ln2; }

Expr inverse_hyperbolic_sine(Expr x) {
  const Expr m = abs(x), square = m * m;
  const Expr near = log_one_plus(m + square / (1 + sqrt(1 + square)));
  return select(m == 0, x, with_sign_of(select(m < kLarge, near, log_of_twice(m)), x));
}

Expr inverse_hyperbolic_cosine(Expr x) {
  const Expr above = x - 1;  // negative: NaN by its root
  return select(x < kLarge, log_one_plus(above + sqrt(above) * sqrt(above + 2)), log_of_twice(x));
}

Expr inverse_hyperbolic_tangent(Expr x) {
  const Expr m = abs(x);
  return select(m == 0, x, with_sign_of(0.5 * log_one_plus(2 * m / (1 - m)), x));
}

}  // namespace

extern constinit const OpDef tan_def{.name = "tan",
                                     .doc = "The tangent of x in radians, sin(x) / cos(x).",
                                     .pointwise = [](Args a) { return sin(real_operand(a, 0)) / cos(a[0]); }};
extern constinit const OpDef asin_def{
    .name = "asin", .doc = "The angle in [-pi/2, pi/2] whose sine is x; NaN beyond [-1, 1].", .pointwise = [](Args a) {
      const Expr& x = real_operand(a, 0);
      return arc_tangent(x / sqrt((1 - x) * (1 + x)));
    }};
extern constinit const OpDef acos_def{
    .name = "acos", .doc = "The angle in [0, pi] whose cosine is x; NaN beyond [-1, 1].", .pointwise = [](Args a) {
      const Expr& x = real_operand(a, 0);
      return 2 * arc_tangent(sqrt((1 - x) / (1 + x)));
    }};
extern constinit const OpDef atan_def{.name = "atan",
                                      .doc = "The angle in [-pi/2, pi/2] whose tangent is x.",
                                      .pointwise = [](Args a) { return arc_tangent(real_operand(a, 0)); }};
extern constinit const OpDef sinh_def{.name = "sinh",
                                      .doc = "The hyperbolic sine, (exp(x) - exp(-x)) / 2.",
                                      .pointwise = [](Args a) { return hyperbolic_sine(real_operand(a, 0)); }};
extern constinit const OpDef cosh_def{.name = "cosh",
                                      .doc = "The hyperbolic cosine, (exp(x) + exp(-x)) / 2.",
                                      .pointwise = [](Args a) { return hyperbolic_cosine(real_operand(a, 0)); }};
extern constinit const OpDef asinh_def{.name = "asinh",
                                       .doc = "The number whose hyperbolic sine is x.",
                                       .pointwise = [](Args a) { return inverse_hyperbolic_sine(real_operand(a, 0)); }};
extern constinit const OpDef acosh_def{
    .name = "acosh", .doc = "The number >= 0 whose hyperbolic cosine is x; NaN below 1.", .pointwise = [](Args a) {
      return inverse_hyperbolic_cosine(real_operand(a, 0));
    }};
extern constinit const OpDef atanh_def{
    .name = "atanh", .doc = "The number whose hyperbolic tangent is x; NaN beyond [-1, 1].", .pointwise = [](Args a) {
      return inverse_hyperbolic_tangent(real_operand(a, 0));
    }};

}  // namespace hone
