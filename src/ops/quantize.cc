// quantize and dequantize: to the codes of a number format while a graph runs, and back.
#include "formats/packed.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {{"format", AttributeKind::format, true, "the number format, e.g. mxint8"}};

std::vector<TensorType> infer_quantize(const InferArgs& a) {
  expect_float(a[0], "x");
  const Format format = a.attributes.get<Format>("format");
  if (dtype_of_plain_format(format)) fail("{} is a plain element type; use cast", to_string(format));
  if (is_constant(a[0].shape)) plane_bytes(format, constant_shape(a[0].shape));  // refuses what has no codes
  TensorType type = plain_type(DType::f32, a[0].shape);
  type.format = format;
  return {type};
}

std::vector<Tensor> eval_quantize(const EvalArgs& a) { return {pack(a.attributes.get<Format>("format"), plain(a[0]))}; }

std::vector<TensorType> infer_dequantize(const InferArgs& a) {
  expect_float(a[0], "x");
  return {plain_type(DType::f32, a[0].shape)};
}

std::vector<Tensor> eval_dequantize(const EvalArgs& a) { return {plain(a[0]).converted(DType::f32)}; }

}  // namespace

extern constinit const OpDef quantize_def{
    .name = "quantize",
    .doc = "x as codes and scales of a number format.",
    .attributes = kAttributes,
    .infer = infer_quantize,
    .eval = eval_quantize,
    .no_gradient = "codes change in jumps only; fake_quant has a straight-through gradient"};

extern constinit const OpDef dequantize_def{
    .name = "dequantize",
    .doc = "The values of codes, or of other floats, as f32.",
    .infer = infer_dequantize,
    .eval = eval_dequantize,
    .fits_all_sizes = [](const InferArgs&, const TensorType&) { return true; },
    .no_gradient = "codes change in jumps only; fake_quant has a straight-through gradient"};

}  // namespace hone
