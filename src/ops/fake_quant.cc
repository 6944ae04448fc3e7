// fake_quant: what packing in a format and reading back leaves of a tensor; and the same element by element, for
// formats in which an element's neighbours have no say.
#include "formats/element_rounding.h"
#include "formats/gradient_mask.h"
#include "ops/elements.h"
#include "ops/pointwise_args.h"
#include "ops/rules.h"
#include "ops/transposed.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {{"format", AttributeKind::format, true, "the number format, e.g. mxint8"}};

std::vector<TensorType> infer_fake_quant(const InferArgs& a) {
  expect_float(a[0], "x");
  return {plain_type(a[0].dtype, a[0].shape)};
}

std::vector<Tensor> eval_fake_quant(const EvalArgs& a) {
  const std::vector<float> x = a[0].to_floats();
  std::vector<float> y(x.size());
  fake_quantize(a.attributes.get<Format>("format"), a[0].shape(), x, y);
  return {Tensor::from_floats(a.results[0].dtype, a[0].shape(), y)};
}

// An f64 is rounded to f32 first, as fake_quant does it.
Expr round_to(Args a) {
  const Format format = a.attributes.get<Format>("format");
  if (!rounds_elements(format))
    fail("round_to: {} has scales that follow from the data; use fake_quant", to_string(format));
  return cast(a[0].type(), rounded_element(format, cast(Scalar::f32, a[0])));
}

Expr straight_through(Args a) {
  const Expr mask = gradient_mask(a.attributes.get<Format>("format"), cast(Scalar::f32, real_operand(a, 0)));
  return select(mask, real_operand(a, 1), 0);
}

// Formats that do not group elements by where they lie.
std::optional<Transposed> transposed_rule(const TransposeArgs& a) {
  const Geometry::Kind kind = a.attributes.get<Format>("format").geometry.kind;
  if (kind != Geometry::Kind::none && kind != Geometry::Kind::tensor) return std::nullopt;
  return Transposed{&a.op, a.attributes, a.perm};
}

}  // namespace

extern constinit const OpDef round_to_def{.name = "round_to",
                                          .doc = "fake_quant in a format without scales, element by element.",
                                          .attributes = kAttributes,
                                          .pointwise = round_to};

extern constinit const OpDef fake_quant_gradient_def{
    .name = "fake_quant_gradient",
    .doc =
        "The gradient of x in fake_quant(x) from that of its result, d, straight through: d where x lies in the "
        "format's range (anywhere, where its scales follow the data), 0 elsewhere and where x is NaN or infinite.",
    .operands = {"x", "d"},
    .attributes = kAttributes,
    .pointwise = straight_through};

extern constinit const OpDef fake_quant_def{
    .name = "fake_quant",
    .doc = "x rounded to what a number format can hold, scales included; NaN stays NaN.",
    .attributes = kAttributes,
    .infer = infer_fake_quant,
    .eval = eval_fake_quant,
    .transposed = transposed_rule};

}  // namespace hone
