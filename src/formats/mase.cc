// compat=mase: what the quantizers of MASE make of values, defects included (docs/FORMATS.md, section 6). Arithmetic is
// in f32 in the order written there; log2 is rounded to f32 before it is rounded to an integer, which decides results
// next to powers of two.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/scale.h"

namespace hone {

extern const FormatDef denorm_def, minifloat_def, logarithmic_def, bfp_def, mxint_def, bminifloat_def, blog_def,
    integer_def;

namespace {

constexpr float kTiny = 1e-9f;       // added so that a logarithm exists
constexpr float kUntouched = 1e-8f;  // magnitudes up to this are returned as they are

double two_to(int exponent) { return std::ldexp(1.0, exponent); }
Expr clamped(Expr x, Expr low, Expr high) { return min(max(x, low), high); }
Expr sign_of(Expr x) { return select(x == 0, typed(Scalar::f32, 0), select(x < 0, typed(Scalar::f32, -1), 1)); }
Expr log2(Expr x) { return cast(Scalar::f32, log(cast(Scalar::f64, x)) / std::numbers::ln2); }

// x * 2^exponent in f64, of a whole f32 exponent and a constant one.
Expr scaled(Expr x, Expr exponent, int more = 0) {
  return cast(Scalar::f64, x) * bitcast(Scalar::f64, (cast(Scalar::i64, exponent) + (1023 + more)) << 52);
}
// The same of an f32, rounded once.
Expr times_two_to(Expr x, Expr exponent, int more = 0) { return cast(Scalar::f32, scaled(x, exponent, more)); }

Expr unless_infinite(Expr x, Expr y) { return select(abs(x) < HUGE_VAL, y, Expr::number(Scalar::f32, std::nan(""))); }

// No hidden bit. The exponent is rounded up and the mantissa then clamped, so powers of two lose their last step.
Expr denorm(const Format& format, Expr x, const GroupValues&) {
  const ElementParams& p = format.element;
  const Expr a = abs(x);
  const Expr e = clamped(ceil(log2(a + kTiny)), -p.bias, two_to(p.exponent_bits) - 1 - p.bias);
  const Expr k = clamped(rint(times_two_to(a, -e, p.mantissa_bits)), 0, two_to(p.mantissa_bits) - 1);
  const Expr y = times_two_to(sign_of(x) * k, e, -p.mantissa_bits);
  return unless_infinite(x, select(a <= kUntouched, x, y));
}

// A hidden bit, subnormals at e = -bias. A mantissa that rounds up to 2^M is clamped instead of carried.
Expr minifloat_with_bias(const ElementParams& p, Expr x, Expr bias) {
  const double highest = two_to(p.mantissa_bits) - 1;
  const Expr a = abs(x);
  const Expr e = clamped(floor(log2(a + kTiny)), -bias, two_to(p.exponent_bits) - 1 - bias);
  const Expr normal = clamped(rint((times_two_to(a, -e) - 1) * two_to(p.mantissa_bits)), 0, highest);
  const Expr subnormal = clamped(rint(times_two_to(a, -e, p.mantissa_bits - 1)), 0, highest);
  const Expr is_normal = e > -bias;
  const Expr steps = select(is_normal, normal + two_to(p.mantissa_bits), 2 * subnormal);
  const Expr y = times_two_to(sign_of(x) * steps, e, -p.mantissa_bits);
  return unless_infinite(x, select(a <= kUntouched, x, y));
}

Expr minifloat(const Format& format, Expr x, const GroupValues&) {
  return minifloat_with_bias(format.element, x, Expr::number(Scalar::f32, format.element.bias));
}

// There is no zero: it becomes the smallest power.
Expr log_with_bias(const ElementParams& p, Expr x, Expr bias) {
  const Expr tenth = cast(Scalar::f32, scaled(Expr::number(Scalar::f64, 0.1), -bias));
  const Expr e = clamped(rint(log2(abs(x) + tenth)), -bias, two_to(p.bits - 1) - 1 - bias);
  return times_two_to(sign_of(x + tenth), e);
}

Expr log_fake(const Format& format, Expr x, const GroupValues&) {
  return log_with_bias(format.element, x, Expr::number(Scalar::f32, format.element.bias));
}

// The largest magnitude of a group, f32. A group of zeros borrows the smallest that another group has.
Expr largest(const GroupValues& group) {
  return cast(Scalar::f32, select(group.results[0] == 0, group.results[1], group.results[0]));
}

// The exponent is rounded up, so a largest magnitude that is a power of two saturates.
Expr bfp(const Format& format, Expr x, const GroupValues& group) {
  const int bits = format.element.bits, bias = (1 << (format.scale.bits - 1)) - 1;
  const Expr e = clamped(ceil(log2(largest(group))), -bias, two_to(format.scale.bits) - 1 - bias);
  const Expr k = clamped(rint(times_two_to(abs(x) + kTiny, -e, bits - 1)), 0, two_to(bits - 1) - 1);
  return select(abs(x) <= kUntouched, x, times_two_to(sign_of(x) * k, e, 1 - bits));
}

Expr mxint(const Format& format, Expr x, const GroupValues& group) {
  const int bits = format.element.bits;
  const Expr s = ceil(log2(max(cast(Scalar::f32, group.results[0]), 0x1p-126)));
  const Expr q = clamped(rint(times_two_to(x, -s, bits - 1)), -two_to(bits - 1), two_to(bits - 1) - 1);
  return times_two_to(q, clamped(s, -127, 128), 1 - bits);
}

// The bias grows with the group and can't be negative, so magnitudes below 1 keep only a few levels.
Expr bminifloat(const Format& format, Expr x, const GroupValues& group) {
  const Expr bias = clamped(floor(log2(largest(group))), 0, two_to(format.scale.bits) - 1);
  return minifloat_with_bias(format.element, x, bias);
}

Expr blog(const Format& format, Expr x, const GroupValues& group) {
  const Expr top = two_to(format.element.bits - 1) - 1 - ceil(log2(largest(group)));
  return log_with_bias(format.element, x, clamped(top, 0, two_to(format.scale.bits) - 1));
}

// The full range of codes with a scale for one more: the largest magnitude saturates.
Expr integer(const Format& format, Expr x, const GroupValues& group) {
  const ElementParams& p = format.element;
  const double codes = two_to(p.is_signed ? p.bits - 1 : p.bits);
  const Expr s = Expr::number(Scalar::f32, codes) / (cast(Scalar::f32, group.results[0]) + kTiny);
  return clamped(rint(x * s), p.is_signed ? -codes : 0, codes - 1) / s;
}

constexpr GroupReduction kLargest[] = {
    {GroupReduction::Kind::max, [](const Format&, Expr x, Exprs) { return cast(Scalar::f64, abs(x)); }}};

// The smallest largest magnitude but 0; 1 if there is none.
constinit const GlobalValue kSmallestLargest{
    .kind = GroupReduction::Kind::min,
    .term = [](const Format&, Exprs results) { return select(results[0] == 0, HUGE_VAL, results[0]); },
    .value = [](const Format&, Expr smallest) { return select(smallest < HUGE_VAL, smallest, 1); },
    .is_scale = false};

using Fake = Expr (*)(const Format&, Expr, const GroupValues&);
constexpr ScaleKind by_element(Fake fake) { return {.name = "none", .reductions = {}, .fake = fake}; }
constexpr ScaleKind by_group(Fake fake, const GlobalValue* global) {
  return {.name = "MASE", .reductions = kLargest, .global = global, .fake = fake};
}

struct Variant {
  const FormatDef* sound;
  ScaleKind kind;
};
constinit const Variant kVariants[] = {{&denorm_def, by_element(denorm)},
                                       {&minifloat_def, by_element(minifloat)},
                                       {&logarithmic_def, by_element(log_fake)},
                                       {&bfp_def, by_group(bfp, &kSmallestLargest)},
                                       {&mxint_def, by_group(mxint, nullptr)},
                                       {&bminifloat_def, by_group(bminifloat, &kSmallestLargest)},
                                       {&blog_def, by_group(blog, &kSmallestLargest)},
                                       {&integer_def, by_group(integer, nullptr)}};

// MASE has one scale rule and, for integers, one scale kind and geometry.
bool exists_in_mase(const Format& sound) {
  if (sound.family == &integer_def)
    return sound.scale_kind == &f32_max_scale && sound.scale.type == ScaleType::f32 &&
           sound.geometry.kind == Geometry::Kind::channel;
  return sound.scale.rule == ScaleRule::floor || sound.scale.rule == ScaleRule::log;
}

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  if (!text.asks_for("compat=mase")) return false;
  const Format sound = parse_format(text.without(OptionKey::compat));
  const Variant* variant = std::ranges::find(kVariants, sound.family, &Variant::sound);
  if (variant == std::end(kVariants) || !exists_in_mase(sound)) return false;
  out = sound;
  out.scale_kind = &variant->kind;
  return true;
}

std::string print(const Format& format) {
  const auto same = [&](const Variant& v) { return &v.kind == format.scale_kind; };
  const FormatDef* const sound = std::ranges::find_if(kVariants, same)->sound;
  return sound->print(format) + ".compat=mase";
}

}  // namespace

extern constinit const FormatDef mase_def{
    .name = "<format>.compat=mase",
    .doc = "What MASE makes of values, for comparisons; nothing to store.",
    .examples =
        "denorm_e4m3.compat=mase minifloat_e4m3.compat=mase log8.compat=mase bfp8.compat=mase "
        "bfp12.g0x16.compat=mase bminifloat_e4m3.e4.compat=mase blog8.compat=mase mxint8.compat=mase "
        "int8.channel.compat=mase",
    .parse = parse,
    .print = print};

}  // namespace hone
