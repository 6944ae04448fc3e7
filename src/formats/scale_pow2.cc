// A power of two per group in k bits: code c means 2^(c - (2^(k-1) - 1)), all ones mean NaN. k = 8 is E8M0 of OCP
// MX 1.0.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "formats/codecs.h"
#include "formats/scale.h"

namespace hone {
namespace {

constexpr GroupReduction kReductions[] = {
    {GroupReduction::Kind::max, [](const Format&, Expr x, Exprs) { return cast(Scalar::f64, abs(x)); }}};

int exponent_bias(const Format& format) { return (1 << (format.scale.bits - 1)) - 1; }
uint32_t nan_code(const Format& format) { return (1u << format.scale.bits) - 1; }

// The significand in [1, 2) of a positive f64; an f32 is never subnormal there.
Expr significand(Expr x) {
  const Expr fraction = bitcast(Scalar::i64, x) & Expr::constant(Scalar::i64, (uint64_t{1} << 52) - 1);
  return bitcast(Scalar::f64, fraction | Expr::constant(Scalar::i64, uint64_t{1023} << 52));
}

// d of the rule: by how much the exponent is raised. i32.
Expr raise(const Format& format, Expr largest, int candidate) {
  const auto one_if = [](Expr condition) { return cast(Scalar::i32, condition); };
  switch (format.scale.rule) {
    case ScaleRule::floor:
      return Expr::number(Scalar::i32, 0);
    case ScaleRule::rceil: {
      const double max = format.codec->max(format.element);
      return one_if(significand(largest) > std::ldexp(max, -std::ilogb(max)));
    }
    case ScaleRule::even: {
      const int t = format.codec->fraction_bits_on_top(format.element);
      return one_if(significand(largest) >= 2 - std::ldexp(1.0, -(t + 1)));
    }
    case ScaleRule::mse:
      return Expr::number(Scalar::i32, candidate == 2 ? -1 : candidate);
    case ScaleRule::log:
      return one_if(significand(largest) > std::numbers::sqrt2);
  }
  CHECK(false);
}

Expr code(const Format& format, Exprs results, int candidate, int) {
  const Expr& largest = results[0];
  const int bias = exponent_bias(format), emax = top_exponent(format);
  const Expr exponent = cast(Scalar::i32, (bitcast(Scalar::i64, largest) >> 52) - 1023);
  // The upper clamp keeps the decoded value of every finite input finite.
  const Expr s = min(max(exponent - emax + raise(format, largest, candidate), -bias), std::min(bias, 127 - emax));
  return select(largest == 0, Expr::constant(Scalar::u32, 0), bitcast(Scalar::u32, s + bias));
}

Expr value(const Format& format, Expr code) {
  const Expr power = bitcast(Scalar::f64, (cast(Scalar::i64, code) + (1023 - exponent_bias(format))) << 52);
  const Expr nan = Expr::number(Scalar::f64, std::nan(""));
  return select(code == Expr::constant(Scalar::u32, nan_code(format)), nan, power);
}

}  // namespace

extern constinit const ScaleKind pow2_scale{
    .name = "pow2",
    .reductions = kReductions,
    .candidates = [](const Format& format) { return format.scale.rule == ScaleRule::mse ? 3 : 1; },
    .code = code,
    .value = value,
    // Exact: f64 holds every f32 divided by every such power.
    .normalise = [](const Format&, Expr x, const GroupValues& group) { return cast(Scalar::f64, x) / group.scale(); },
    .nan_code = nan_code};

ScaleParams pow2_scale_params(int bits, ScaleRule rule) { return {.bits = bits, .rule = rule}; }

}  // namespace hone
