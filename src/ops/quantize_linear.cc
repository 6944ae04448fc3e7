// ONNX's affine quantization: quantize_linear and dequantize_linear. Scale and zero point broadcast to x as operands of
// any pointwise op do: [C,1,1] is one for each channel of [N,C,H,W], and [N,K/32,1] one for each block of 32 columns of
// [N,K] seen as [N,K/32,32].
#include "ir/compute_column.h"
#include "ops/pointwise_args.h"

namespace hone {
namespace {

constexpr AttributeSpec kQuantizeAttributes[] = {
    {"dtype", AttributeKind::dtype, true, "element type of the result: integers of up to 16 bits, small floats"}};
constexpr AttributeSpec kDequantizeAttributes[] = {
    {"dtype", AttributeKind::dtype, true, "element type of the result: a float"}};

bool has_zero_point(Args a) { return a.operands.size() > 2 && a[2]; }

Expr quantize(Args a) {
  const DType to = a.attributes.get<DType>("dtype");
  const Expr quotient = cast(Scalar::f32, number_operand(a, 0)) / cast(Scalar::f32, real_operand(a, 1));
  if (is_float(compute_scalar(to))) return cast_element(to, quotient);
  const Expr code = rint(quotient);
  return cast_element(to, has_zero_point(a) ? code + cast(Scalar::f32, number_operand(a, 2)) : code);
}

// The difference of two integers is taken in i32, where that of two codes of up to 16 bits is exact.
Expr centred(Args a) {
  const Expr& x = number_operand(a, 0);
  if (!has_zero_point(a)) return cast(Scalar::f32, x);
  const Expr& zero = number_operand(a, 2);
  const Scalar type = is_integer(x.type()) && is_integer(zero.type()) ? Scalar::i32 : Scalar::f32;
  return cast(Scalar::f32, cast(type, x) - cast(type, zero));
}

Expr dequantize(Args a) {
  return cast_element(a.attributes.get<DType>("dtype"), centred(a) * cast(Scalar::f32, real_operand(a, 1)));
}

}  // namespace

extern constinit const OpDef quantize_linear_def{
    .name = "quantize_linear",
    .doc =
        "round(x / scale) + zero_point as an integer `dtype`: the quotient is f32, ties go to even, the sum saturates "
        "at the type's bounds. To a small float, x / scale is rounded to nearest even and saturates.",
    .operands = {"x", "scale", optional("zero_point")},
    .attributes = kQuantizeAttributes,
    .pointwise = quantize,
    .no_gradient = "codes change in jumps only; fake_quant has a straight-through gradient"};
extern constinit const OpDef dequantize_linear_def{
    .name = "dequantize_linear",
    .doc = "(x - zero_point) * scale in f32, rounded to `dtype`; the difference of integers is exact.",
    .operands = {"x", "scale", optional("zero_point")},
    .attributes = kDequantizeAttributes,
    .pointwise = dequantize};

}  // namespace hone
