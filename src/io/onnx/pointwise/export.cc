// Operators on single elements.
#include <algorithm>

#include "io/onnx/export_direct.h"

namespace hone::onnx {
namespace {

Names where(const ExportNode& n) {
  const DType dtype = n.result_type().dtype;
  return {n.emit("Where", {n.in(0), n.in_as(1, dtype), n.in_as(2, dtype)})};
}

// The slope must broadcast to x.
Names prelu(const ExportNode& n) {
  return n.result_type().shape == n.type(0).shape ? direct<"PRelu", kFloats>(n) : write_expression(n);
}

Names equal_strings(const ExportNode& n) {
  n.needs(19, "Equal of strings");
  return {n.emit("Equal", n.all_in())};
}

Names not_equal(const ExportNode& n) { return {n.emit("Not", direct<"Equal", kNumbers | kBoolean>(n))}; }

Names clip(const ExportNode& n) {
  const DType dtype = n.type(0).dtype;
  const auto bound = [&](const char* name) {
    return n.attributes().has(name) ? n.number(n.attributes().get<double>(name), dtype) : "";
  };
  return {n.emit("Clip", {n.in(0), bound("min"), bound("max")})};
}

// As later Swish is spelled before it is there.
Names silu(const ExportNode& n) {
  if (n.attributes().has("alpha")) return write_expression(n);
  return {n.emit("Mul", {n.in(0), n.emit("Sigmoid", {n.in(0)})})};
}

Names cast(const ExportNode& n) { return {n.cast(n.in(0), n.type(0).dtype, n.result_type().dtype)}; }
Names cast_unsaturated(const ExportNode& n) {
  n.needs(19, "Cast without saturation");
  return {n.emit("Cast", {n.in(0)}, {{"to", n.result_type().dtype}, {"saturate", int64_t{0}}})};
}

Names cast_to_powers(const ExportNode& n) {
  n.needs(24, "Cast to float8e8m0");
  return {n.emit("Cast", {n.in_as(0, DType::f32)},
                 {{"to", DType::f8e8m0},
                  {"round_mode", n.attributes().get_or<std::string>("round", "up")},
                  {"saturate", n.integer("saturate", 1)}})};
}
Names bit_cast(const ExportNode& n) {
  n.needs(26, "BitCast");
  return {n.emit("BitCast", {n.in(0)}, {{"to", n.result_type().dtype}})};
}

Names same(const ExportNode& n) { return {n.in(0)}; }

Names fmod(const ExportNode& n) {
  const DType dtype = n.result_type().dtype;
  return {n.emit("Mod", {n.in_as(0, dtype), n.in_as(1, dtype)}, {{"fmod", int64_t{1}}})};
}

Names mod(const ExportNode& n) {
  if (is_float(n.type(0).dtype)) return write_expression(n);
  return direct<"Mod", kIntegers>(n);
}

Names shrink(const ExportNode& n) {
  const Attributes& a = n.attributes();
  const DType dtype = compute_dtype(n.type(0).dtype);
  return {n.cast(n.emit("Shrink", {n.in_as(0, dtype)},
                        {{"lambd", a.get_or<double>("threshold", 0.5)}, {"bias", a.get_or<double>("bias", 0.0)}}),
                 dtype, n.result_type().dtype)};
}

Names bit_shift(const ExportNode& n) {
  const bool left = n.attributes().get<std::string>("direction") == "left";
  if (!(kUnsigned & types(n.type(0).dtype))) return write_expression(n);
  return {n.emit("BitShift", n.all_in(), {{"direction", std::string(left ? "LEFT" : "RIGHT")}})};
}

constexpr ExportRule kRules[] = {
    {"abs", direct<"Abs", kNumbers>},
    {"acos", direct<"Acos", kOldFloats>},
    {"acosh", direct<"Acosh", kOldFloats>},
    {"add", direct<"Add", kNumbers>},
    {"asin", direct<"Asin", kOldFloats>},
    {"asinh", direct<"Asinh", kOldFloats>},
    {"atan", direct<"Atan", kOldFloats>},
    {"atanh", direct<"Atanh", kOldFloats>},
    {"bit_shift", bit_shift},
    {"bit_cast", bit_cast},
    {"bitwise_and", direct<"BitwiseAnd", kIntegers, 18>},
    {"bitwise_not", direct<"BitwiseNot", kIntegers, 18>},
    {"bitwise_or", direct<"BitwiseOr", kIntegers, 18>},
    {"bitwise_xor", direct<"BitwiseXor", kIntegers, 18>},
    {"cast", cast},
    {"cast_to_powers", cast_to_powers},
    {"cast_unsaturated", cast_unsaturated},
    {"ceil", direct<"Ceil", kFloats>},
    {"celu", direct<"Celu", types(DType::f32)>},
    {"clip", clip},
    {"cos", direct<"Cos", kOldFloats>},
    {"cosh", direct<"Cosh", kOldFloats>},
    {"div", direct<"Div", kNumbers>},
    {"dropout", same},
    {"elu", direct<"Elu", kOldFloats>},
    {"equal", direct<"Equal", kNumbers | kBoolean>},
    {"equal_strings", equal_strings},
    {"erf", direct<"Erf", kFloats>},
    {"exp", direct<"Exp", kFloats>},
    {"floor", direct<"Floor", kFloats>},
    {"fmod", fmod},
    {"gelu", direct<"Gelu", kFloats, 20>},
    {"greater", direct<"Greater", kNumbers>},
    {"greater_or_equal", direct<"GreaterOrEqual", kNumbers>},
    {"hard_sigmoid", direct<"HardSigmoid", kOldFloats>},
    {"hard_swish", direct<"HardSwish", kOldFloats>},
    {"identity", same},
    {"is_inf", direct<"IsInf", types(DType::f32, DType::f64)>},
    {"is_nan", direct<"IsNaN", kFloats>},
    {"leaky_relu", direct<"LeakyRelu", kFloats>},
    {"less", direct<"Less", kNumbers>},
    {"less_or_equal", direct<"LessOrEqual", kNumbers>},
    {"log", direct<"Log", kFloats>},
    {"logical_and", direct<"And", kBoolean>},
    {"logical_not", direct<"Not", kBoolean>},
    {"logical_or", direct<"Or", kBoolean>},
    {"logical_xor", direct<"Xor", kBoolean>},
    {"max", direct<"Max", kNumbers>},
    {"min", direct<"Min", kNumbers>},
    {"mish", direct<"Mish", kOldFloats, 18>},
    {"mod", mod},
    {"mul", direct<"Mul", kNumbers>},
    {"neg", direct<"Neg", kSigned | kFloats>},
    {"not_equal", not_equal},
    {"pow", direct<"Pow", kFloats | types(DType::i32, DType::i64)>},
    {"prelu", prelu},
    {"reciprocal", direct<"Reciprocal", kFloats>},
    {"relu", direct<"Relu", kFloats | kSigned>},
    {"round", direct<"Round", kOldFloats>},
    {"selu", direct<"Selu", kOldFloats>},
    {"shrink", shrink},
    {"sigmoid", direct<"Sigmoid", kFloats>},
    {"sign", direct<"Sign", kNumbers>},
    {"silu", silu},
    {"sin", direct<"Sin", kOldFloats>},
    {"sinh", direct<"Sinh", kOldFloats>},
    {"softplus", direct<"Softplus", kOldFloats>},
    {"softsign", direct<"Softsign", kOldFloats>},
    {"sqrt", direct<"Sqrt", kFloats>},
    {"sub", direct<"Sub", kNumbers>},
    {"tan", direct<"Tan", kOldFloats>},
    {"tanh", direct<"Tanh", kFloats>},
    {"thresholded_relu", direct<"ThresholdedRelu", kOldFloats>},
    {"where", where},
    {"where_strings", where},
};

}  // namespace

std::span<const ExportRule> pointwise_rules() { return kRules; }

}  // namespace hone::onnx
