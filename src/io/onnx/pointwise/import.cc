// Operators on single elements: mathematics, comparisons, logic, bits, choice and casts.
#include <cmath>

#include "io/onnx/direct.h"
#include "io/onnx/formula.h"
#include "io/onnx/random/random_numbers.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/bit_cast.h"
#include "ops/calls/bits.h"
#include "ops/calls/cast.h"
#include "ops/calls/cast_to_powers.h"
#include "ops/calls/comparison.h"
#include "ops/calls/full.h"
#include "ops/calls/random.h"
#include "ops/calls/rounding.h"
#include "ops/calls/text.h"
#include "ops/calls/transcendental.h"
#include "ops/calls/trigonometry.h"

namespace hone {
namespace {

using onnx::Formula;
using onnx::import_direct;

// Before version 7 the second operand lies at `axis` of the first, by default at its end.
ValueId second_operand(OnnxNode& n) {
  const ValueId a = n.in(0), b = n.in(1);
  if (n.opset() >= 7 || !n.has_attribute("axis")) return b;
  const auto rank = static_cast<int64_t>(n.rank(a)), own = static_cast<int64_t>(n.rank(b)), given = n.integer("axis"),
             axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis > rank - own)
    fail("axis is {}, where {} does not fit into {}", given, to_string(n.type(b)), to_string(n.type(a)));
  Shape shape = n.shape(b);
  shape.insert(shape.end(), static_cast<size_t>(rank - axis - own), 1);
  return n.reshape(b, shape);
}

template <const OpDef& op>
std::vector<ValueId> import_binary(OnnxNode& n) {
  return {n.emit({&op, {n.in(0), second_operand(n)}})};
}

std::vector<ValueId> import_equal(OnnxNode& n) {
  if (n.type(n.in(0)).dtype == DType::string) return import_direct<equal_strings_def>(n);
  return import_binary<equal_def>(n);
}

std::vector<ValueId> import_where(OnnxNode& n) {
  if (n.type(n.in(1)).dtype == DType::string) return import_direct<where_strings_def>(n);
  return import_direct<where_def>(n);
}

// a op b op c ...
template <const OpDef& op>
std::vector<ValueId> import_variadic(OnnxNode& n) {
  ValueId value = n.in(0);
  for (int i = 1; i < n.inputs(); ++i) value = n.emit({&op, {value, n.in(i)}});
  return {value};
}

std::vector<ValueId> import_mean(OnnxNode& n) { return {Formula(n, import_variadic<add_def>(n)[0]) / n.inputs()}; }

// Integers to the power of integers stay integers; otherwise floats, as wide as the wider side, and f64 for the sake of
// integer bases.
std::vector<ValueId> import_power(OnnxNode& n) {
  const Formula base(n, n.in(0)), exponent(n, second_operand(n));
  if (base.dtype() == exponent.dtype()) return {base.apply(pow_def, exponent)};
  if (is_integer(base.dtype()) && is_integer(exponent.dtype()))
    return {base.cast(DType::i64).apply(pow_def, exponent.cast(DType::i64)).cast(base.dtype())};
  const bool wide = is_integer(base.dtype()) || base.dtype() == DType::f64 || exponent.dtype() == DType::f64;
  const DType dtype = wide ? DType::f64 : DType::f32;
  return {base.cast(dtype).apply(pow_def, exponent.cast(dtype)).cast(base.dtype())};
}

std::vector<ValueId> import_mod(OnnxNode& n) {
  return {n.emit({n.zero_or_one("fmod", false) ? &fmod_def : &mod_def, {n.in(0), n.in(1)}})};
}

std::vector<ValueId> import_bit_shift(OnnxNode& n) {
  const std::string direction = n.text("direction");
  if (direction != "LEFT" && direction != "RIGHT") fail("direction is \"{}\"; accepted: LEFT, RIGHT", direction);
  return {ops::bit_shift(
      n, {.a = n.in(0), .b = n.in(1), .direction = std::string(direction == "LEFT" ? "left" : "right")})};
}

std::vector<ValueId> import_bit_cast(OnnxNode& n) { return {ops::bit_cast(n, {.x = n.in(0), .dtype = n.dtype("to")})}; }

std::vector<ValueId> import_is_inf(OnnxNode& n) {
  Attributes attributes;
  for (const char* sign : {"detect_negative", "detect_positive"})
    if (n.has_attribute(sign)) attributes.set(sign, n.integer(sign));
  return {n.emit({&is_inf_def, {n.in(0)}, attributes})};
}

// Bounds as attributes, before version 11.
std::vector<ValueId> import_clip_6(OnnxNode& n) {
  Attributes bounds;
  for (const char* bound : {"min", "max"})
    if (n.has_attribute(bound)) bounds.set(bound, n.number(bound));
  return {n.emit({&clip_def, {n.in(0)}, bounds})};
}

// The value of a constant of one element that a double holds.
std::optional<double> exact_number(const Tensor* constant) {
  if (!constant || constant->elements() != 1 || constant->is_packed() || constant->dtype() == DType::string ||
      constant->container() != Container::none)
    return std::nullopt;
  const double value = constant->to_doubles()[0];
  if (is_integer(constant->dtype()) && std::abs(value) > 0x1p53) return std::nullopt;
  return value;
}

std::vector<ValueId> import_clip(OnnxNode& n) {
  const ValueId low = n.in_or_none(1), high = n.in_or_none(2);
  const auto known = [&](ValueId bound) { return bound == kNone ? std::nullopt : exact_number(n.constant(bound)); };
  const std::optional<double> least = known(low), most = known(high);
  if ((low == kNone || least) && (high == kNone || most)) {
    Attributes bounds;
    if (least) bounds.set("min", *least);
    if (most) bounds.set("max", *most);
    return {n.emit({&clip_def, {n.in(0)}, bounds})};
  }
  ValueId x = n.in(0);
  if (low != kNone) x = ops::max(n, {x, low});
  if (high != kNone) x = ops::min(n, {x, high});
  return {x};
}

ValueId cast_to(OnnxNode& n, ValueId x, DType to) {
  const DType from = n.type(x).dtype;
  if (from == to) return x;
  if (from == DType::string) return ops::parse_numbers(n, {.x = x, .dtype = to});
  if (to == DType::string) return ops::format_numbers(n, {x});
  if (to == DType::f8e8m0)
    return ops::cast_to_powers(n,
                               {.x = x, .round = n.text("round_mode", "up"), .saturate = n.is_one("saturate", true)});
  if (small_float(to) && !n.is_one("saturate", true)) return ops::cast_unsaturated(n, {.x = x, .dtype = to});
  const bool to_part = is_integer(to) && is_small(to);  // what does not fit loses its upper bits
  return n.cast(is_float(from) && to_part ? n.cast(x, DType::i32) : x, to);
}

// A number of known sizes is known itself: attention's scale, 1 / sqrt(columns of a head).
std::vector<ValueId> import_cast(OnnxNode& n) {
  const ValueId x = n.in(0);
  const DType to = n.dtype("to");
  const auto known = to == DType::f32 || to == DType::f64 ? n.known_integers(x) : std::nullopt;
  if (!known || known->size() != 1 || n.constant(x)) return {cast_to(n, x, to)};
  return {n.reshape(n.scalar(static_cast<double>((*known)[0]), to), n.type(x).shape)};
}
std::vector<ValueId> import_cast_like(OnnxNode& n) { return {cast_to(n, n.in(0), n.type(n.in(1)).dtype)}; }

// Whether a node is known to drop nothing: without training_mode (or before it, version 12), or a ratio of 0.
bool drops_nothing(const OnnxNode& n) {
  if (!n.has(2)) return true;
  const std::optional<double> ratio = n.has(1) ? exact_number(n.constant(n.in(1))) : std::nullopt;
  return exact_number(n.constant(n.in(2))) == 0.0 || ratio == 0.0;
}

// Where the model runs in training mode, elements whose random number is below the ratio are 0 and the others grow to
// keep the mean.
std::vector<ValueId> dropped(OnnxNode& n) {
  const Formula x(n, n.in(0));
  const Formula ratio(n, n.has(1) ? n.reshape(n.cast(n.in(1), DType::f32), {}) : n.scalar(0.5, DType::f32));
  const Formula trains(n, n.reshape(n.cast(n.in(2), DType::boolean), {}));
  const ValueId drawn = random_like(n, x, random_uniform_def, {{"seed", seed_of(n)}, {"dtype", DType::f32}});
  const ValueId is_high = ops::greater_or_equal(n, {drawn, ratio});
  const Formula kept(n, ops::logical_or(n, {is_high, ops::logical_not(n, {trains})}));
  const ValueId factor = ops::where(n, {.condition = trains, .a = 1 / (1 - ratio), .b = ratio.number(1)});
  const ValueId grown = n.cast(ops::mul(n, {x.cast(DType::f32), factor}), x.dtype());
  const ValueId y =
      ops::where(n, {.condition = trains, .a = grown, .b = x});  // x itself, to the bit, where nothing is trained
  return {ops::where(n, {.condition = kept, .a = y, .b = x.number(0)}), kept};
}

std::vector<ValueId> import_dropout(OnnxNode& n) {
  const ValueId x = n.in(0);
  if (!drops_nothing(n)) return dropped(n);
  if (!n.wants(1)) return {x};
  const Shape shape = n.shape(x);  // that of the mask too
  const DType dtype = n.opset() >= 10 ? DType::boolean : n.type(x).dtype;
  return {x, ops::full(n, {.shape = shape, .value = 1.0, .dtype = dtype})};
}

constexpr OnnxOperator kOperators[] = {
    {"Abs", 1, import_direct<abs_def>},
    {"Acos", 7, import_direct<acos_def>},
    {"Acosh", 9, import_direct<acosh_def>},
    {"Add", 1, import_binary<add_def>},
    {"And", 1, import_binary<logical_and_def>},
    {"Asin", 7, import_direct<asin_def>},
    {"Asinh", 9, import_direct<asinh_def>},
    {"Atan", 7, import_direct<atan_def>},
    {"Atanh", 9, import_direct<atanh_def>},
    {"BitCast", 26, import_bit_cast},
    {"BitShift", 11, import_bit_shift},
    {"BitwiseAnd", 18, import_direct<bitwise_and_def>},
    {"BitwiseNot", 18, import_direct<bitwise_not_def>},
    {"BitwiseOr", 18, import_direct<bitwise_or_def>},
    {"BitwiseXor", 18, import_direct<bitwise_xor_def>},
    {"Cast", 6, import_cast},
    {"CastLike", 15, import_cast_like},
    {"Ceil", 1, import_direct<ceil_def>},
    {"Clip", 1, import_clip_6},
    {"Clip", 11, import_clip},
    {"Cos", 7, import_direct<cos_def>},
    {"Cosh", 9, import_direct<cosh_def>},
    {"Div", 1, import_binary<div_def>},
    {"Dropout", 1, import_dropout},
    {"Equal", 1, import_equal},
    {"Erf", 9, import_direct<erf_def>},
    {"Exp", 1, import_direct<exp_def>},
    {"Floor", 1, import_direct<floor_def>},
    {"Greater", 1, import_binary<greater_def>},
    {"GreaterOrEqual", 12, import_direct<greater_or_equal_def>},
    {"IsInf", 10, import_is_inf},
    {"IsNaN", 9, import_direct<is_nan_def>},
    {"Less", 1, import_binary<less_def>},
    {"LessOrEqual", 12, import_direct<less_or_equal_def>},
    {"Log", 1, import_direct<log_def>},
    {"Max", 1, import_variadic<max_def>},
    {"Mean", 1, import_mean},
    {"Min", 1, import_variadic<min_def>},
    {"Mod", 10, import_mod},
    {"Mul", 1, import_binary<mul_def>},
    {"Neg", 1, import_direct<neg_def>},
    {"Not", 1, import_direct<logical_not_def>},
    {"Or", 1, import_binary<logical_or_def>},
    {"Pow", 1, import_power},
    {"Reciprocal", 1, import_direct<reciprocal_def>},
    {"Round", 11, import_direct<round_def>},
    {"Sign", 9, import_direct<sign_def>},
    {"Sin", 7, import_direct<sin_def>},
    {"Sinh", 9, import_direct<sinh_def>},
    {"Sqrt", 1, import_direct<sqrt_def>},
    {"Sub", 1, import_binary<sub_def>},
    {"Sum", 1, import_variadic<add_def>},
    {"Tan", 7, import_direct<tan_def>},
    {"Tanh", 1, import_direct<tanh_def>},
    {"Where", 9, import_where},
    {"Xor", 1, import_binary<logical_xor_def>},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_pointwise_def{.name = "pointwise", .operators = kOperators};

}  // namespace hone
