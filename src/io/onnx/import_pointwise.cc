// Operators on single elements: mathematics, comparisons, logic, bits, choice and casts.
#include <cmath>

#include "io/onnx/direct.h"
#include "io/onnx/formula.h"
#include "io/onnx/random_numbers.h"

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

template <onnx::OpName op>
std::vector<ValueId> import_binary(OnnxNode& n) {
  return {n.emit(op.text, {n.in(0), second_operand(n)})};
}

std::vector<ValueId> import_equal(OnnxNode& n) {
  if (n.type(n.in(0)).dtype == DType::string) return import_direct<"equal_strings">(n);
  return import_binary<"equal">(n);
}

std::vector<ValueId> import_where(OnnxNode& n) {
  if (n.type(n.in(1)).dtype == DType::string) return import_direct<"where_strings">(n);
  return import_direct<"where">(n);
}

// a op b op c ...
template <onnx::OpName op>
std::vector<ValueId> import_variadic(OnnxNode& n) {
  ValueId value = n.in(0);
  for (int i = 1; i < n.inputs(); ++i) value = n.emit(op.text, {value, n.in(i)});
  return {value};
}

std::vector<ValueId> import_mean(OnnxNode& n) { return {Formula(n, import_variadic<"add">(n)[0]) / n.inputs()}; }

// Integers to the power of integers stay integers; otherwise floats, as wide as the wider side, and f64 for the sake of
// integer bases.
std::vector<ValueId> import_power(OnnxNode& n) {
  const Formula base(n, n.in(0)), exponent(n, second_operand(n));
  if (base.dtype() == exponent.dtype()) return {base.apply("pow", exponent)};
  if (is_integer(base.dtype()) && is_integer(exponent.dtype()))
    return {base.cast(DType::i64).apply("pow", exponent.cast(DType::i64)).cast(base.dtype())};
  const bool wide = is_integer(base.dtype()) || base.dtype() == DType::f64 || exponent.dtype() == DType::f64;
  const DType dtype = wide ? DType::f64 : DType::f32;
  return {base.cast(dtype).apply("pow", exponent.cast(dtype)).cast(base.dtype())};
}

std::vector<ValueId> import_mod(OnnxNode& n) {
  return {n.emit(n.integer("fmod", 0) != 0 ? "fmod" : "mod", {n.in(0), n.in(1)})};
}

std::vector<ValueId> import_bit_shift(OnnxNode& n) {
  const std::string direction = n.text("direction");
  if (direction != "LEFT" && direction != "RIGHT") fail("direction is \"{}\"; accepted: LEFT, RIGHT", direction);
  return {
      n.emit("bit_shift", {n.in(0), n.in(1)}, {{"direction", std::string(direction == "LEFT" ? "left" : "right")}})};
}

std::vector<ValueId> import_bit_cast(OnnxNode& n) {
  return {n.emit("bit_cast", {n.in(0)}, {{"dtype", n.dtype("to")}})};
}

std::vector<ValueId> import_is_inf(OnnxNode& n) {
  Attributes attributes;
  for (const char* sign : {"detect_negative", "detect_positive"})
    if (n.has_attribute(sign)) attributes.set(sign, n.integer(sign));
  return {n.emit("is_inf", {n.in(0)}, attributes)};
}

// Bounds as attributes, before version 11.
std::vector<ValueId> import_clip_6(OnnxNode& n) {
  Attributes bounds;
  for (const char* bound : {"min", "max"})
    if (n.has_attribute(bound)) bounds.set(bound, n.number(bound));
  return {n.emit("clip", {n.in(0)}, bounds)};
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
    return {n.emit("clip", {n.in(0)}, bounds)};
  }
  ValueId x = n.in(0);
  if (low != kNone) x = n.emit("max", {x, low});
  if (high != kNone) x = n.emit("min", {x, high});
  return {x};
}

ValueId cast_to(OnnxNode& n, ValueId x, DType to) {
  const DType from = n.type(x).dtype;
  if (from == to) return x;
  if (from == DType::string) return n.emit("parse_numbers", {x}, {{"dtype", to}});
  if (to == DType::string) return n.emit("format_numbers", {x});
  if (to == DType::f8e8m0)
    return n.emit("cast_to_powers", {x},
                  {{"round", n.text("round_mode", "up")}, {"saturate", n.integer("saturate", 1)}});
  if (small_float(to) && n.integer("saturate", 1) == 0) return n.emit("cast_unsaturated", {x}, {{"dtype", to}});
  const bool to_part = is_integer(to) && is_small(to);  // what does not fit loses its upper bits
  return n.cast(is_float(from) && to_part ? n.cast(x, DType::i32) : x, to);
}

std::vector<ValueId> import_cast(OnnxNode& n) { return {cast_to(n, n.in(0), n.dtype("to"))}; }
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
  const ValueId drawn = random_like(n, x, "random_uniform", {{"seed", seed_of(n)}, {"dtype", DType::f32}});
  const ValueId is_high = n.emit("greater_or_equal", {drawn, ratio});
  const Formula kept(n, n.emit("logical_or", {is_high, n.emit("logical_not", {trains})}));
  const ValueId factor = n.emit("where", {trains, 1 / (1 - ratio), ratio.number(1)});
  const ValueId grown = n.cast(n.emit("mul", {x.cast(DType::f32), factor}), x.dtype());
  const ValueId y = n.emit("where", {trains, grown, x});  // x itself, to the bit, where nothing is trained
  return {n.emit("where", {kept, y, x.number(0)}), kept};
}

std::vector<ValueId> import_dropout(OnnxNode& n) {
  const ValueId x = n.in(0);
  if (!drops_nothing(n)) return dropped(n);
  if (!n.wants(1)) return {x};
  const Shape shape = n.shape(x);  // that of the mask too
  const DType dtype = n.opset() >= 10 ? DType::boolean : n.type(x).dtype;
  return {x, n.emit("full", {}, {{"shape", shape}, {"value", 1.0}, {"dtype", dtype}})};
}

constexpr OnnxOperator kOperators[] = {
    {"Abs", 1, import_direct<"abs">},
    {"Acos", 7, import_direct<"acos">},
    {"Acosh", 9, import_direct<"acosh">},
    {"Add", 1, import_binary<"add">},
    {"And", 1, import_binary<"logical_and">},
    {"Asin", 7, import_direct<"asin">},
    {"Asinh", 9, import_direct<"asinh">},
    {"Atan", 7, import_direct<"atan">},
    {"Atanh", 9, import_direct<"atanh">},
    {"BitCast", 26, import_bit_cast},
    {"BitShift", 11, import_bit_shift},
    {"BitwiseAnd", 18, import_direct<"bitwise_and">},
    {"BitwiseNot", 18, import_direct<"bitwise_not">},
    {"BitwiseOr", 18, import_direct<"bitwise_or">},
    {"BitwiseXor", 18, import_direct<"bitwise_xor">},
    {"Cast", 6, import_cast},
    {"CastLike", 15, import_cast_like},
    {"Ceil", 1, import_direct<"ceil">},
    {"Clip", 1, import_clip_6},
    {"Clip", 11, import_clip},
    {"Cos", 7, import_direct<"cos">},
    {"Cosh", 9, import_direct<"cosh">},
    {"Div", 1, import_binary<"div">},
    {"Dropout", 1, import_dropout},
    {"Equal", 1, import_equal},
    {"Erf", 9, import_direct<"erf">},
    {"Exp", 1, import_direct<"exp">},
    {"Floor", 1, import_direct<"floor">},
    {"Greater", 1, import_binary<"greater">},
    {"GreaterOrEqual", 12, import_direct<"greater_or_equal">},
    {"IsInf", 10, import_is_inf},
    {"IsNaN", 9, import_direct<"is_nan">},
    {"Less", 1, import_binary<"less">},
    {"LessOrEqual", 12, import_direct<"less_or_equal">},
    {"Log", 1, import_direct<"log">},
    {"Max", 1, import_variadic<"max">},
    {"Mean", 1, import_mean},
    {"Min", 1, import_variadic<"min">},
    {"Mod", 10, import_mod},
    {"Mul", 1, import_binary<"mul">},
    {"Neg", 1, import_direct<"neg">},
    {"Not", 1, import_direct<"logical_not">},
    {"Or", 1, import_binary<"logical_or">},
    {"Pow", 1, import_power},
    {"Reciprocal", 1, import_direct<"reciprocal">},
    {"Round", 11, import_direct<"round">},
    {"Sign", 9, import_direct<"sign">},
    {"Sin", 7, import_direct<"sin">},
    {"Sinh", 9, import_direct<"sinh">},
    {"Sqrt", 1, import_direct<"sqrt">},
    {"Sub", 1, import_binary<"sub">},
    {"Sum", 1, import_variadic<"add">},
    {"Tan", 7, import_direct<"tan">},
    {"Tanh", 1, import_direct<"tanh">},
    {"Where", 9, import_where},
    {"Xor", 1, import_binary<"logical_xor">},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_pointwise_def{.name = "pointwise", .operators = kOperators};

}  // namespace hone
