// fake_quant: what packing in a format and reading back leaves of a tensor; and the same element by element, for
// formats in which an element's neighbours have no say, or whose scales are given.
#include "formats/element_rounding.h"
#include "formats/gradient_mask.h"
#include "formats/learned_scale.h"
#include "formats/scale.h"
#include "ops/elements.h"
#include "ops/pointwise_args.h"
#include "ops/rules.h"
#include "ops/scale_groups.h"
#include "ops/transposed.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {{"format", AttributeKind::format, true, "the number format, e.g. mxint8"}};
constexpr AttributeSpec kByAttributes[] = {
    {"format", AttributeKind::format, true, "the number format, e.g. int4.channel"},
    {"by", AttributeKind::string, true, "x, scale or zero_point"}};

Format format_of(const Attributes& attributes) { return attributes.get<Format>("format"); }

Format learned_format(const Attributes& attributes) {
  const Format format = format_of(attributes);
  if (const std::string why = no_learned_scale(format); !why.empty()) fail("no scale can be given: {}", why);
  return format;
}

void expect_scale(const TensorType& type, const Shape& wanted, const Format& format, const char* what) {
  if (type.dtype != DType::f32 || type.is_packed()) fail("{} is {}; accepted: plain f32", what, to_string(type));
  if (type.shape != wanted)
    fail("{} has the shape {}; {} needs {}", what, to_string(type.shape), to_string(format), to_string(wanted));
}

std::vector<TensorType> infer_fake_quant(const InferArgs& a) {
  expect_float(a[0], "x");
  if (a.has(1)) {
    const Format format = learned_format(a.attributes);
    const Shape wanted = scale_shape(format, a[0].shape);
    expect_scale(a[1], wanted, format, "scale");
    if (a.has(2) != (format.scale_kind->zero_point != nullptr))
      fail("{} {} a zero point", to_string(format), a.has(2) ? "has no" : "needs");
    if (a.has(2)) expect_scale(a[2], wanted, format, "zero_point");
  } else if (a.has(2)) {
    fail("a zero point is given without a scale");
  }
  return {plain_type(a[0].dtype, a[0].shape)};
}

// Each element by what is given for its group.
std::vector<float> rounded_by(const Format& format, const EvalArgs& a, const std::vector<float>& x) {
  LearnedValues given{.learned = spread_over_groups(format, a[0].shape(), a[1].to_floats()), .zero_points = {}};
  if (a.has(2)) given.zero_points = spread_over_groups(format, a[0].shape(), a[2].to_floats());
  return rounded(format, x, given);
}

std::vector<Tensor> eval_fake_quant(const EvalArgs& a) {
  const Format format = format_of(a.attributes);
  const std::vector<float> x = a[0].to_floats();
  std::vector<float> y(x.size());
  if (a.has(1)) y = rounded_by(format, a, x);
  else fake_quantize(format, a[0].shape(), x, y);
  return {Tensor::from_floats(a.results[0].dtype, a[0].shape(), y)};
}

// An f64 is rounded to f32 first, as fake_quant does it.
Expr round_to(Args a) {
  const Format format = format_of(a.attributes);
  if (!rounds_elements(format))
    fail("round_to: {} has scales that follow from the data; use fake_quant", to_string(format));
  return cast(a[0].type(), rounded_element(format, cast(Scalar::f32, a[0])));
}

Expr straight_through(Args a) {
  const Expr mask = gradient_mask(format_of(a.attributes), cast(Scalar::f32, real_operand(a, 0)));
  return select(mask, real_operand(a, 1), 0);
}

LearnedElement learned_element(Args a, const Format& format, size_t zero_point) {
  const auto f32 = [&](size_t i) { return cast(Scalar::f32, real_operand(a, i)); };
  const bool has_zero = a.operands.size() > zero_point && format.scale_kind->zero_point;
  return {f32(0), f32(1), has_zero ? f32(zero_point) : typed(Scalar::f32, 0)};
}

Expr round_scaled(Args a) {
  const Format format = learned_format(a.attributes);
  return cast(a[0].type(), rounded(format, learned_element(a, format, 2)));
}

Expr round_scaled_gradient(Args a) {
  const Format format = learned_format(a.attributes);
  const LearnedElement e = learned_element(a, format, 3);
  const std::string by = a.attributes.get<std::string>("by");
  const Expr& d = real_operand(a, 2);
  if (by == "x") return select(passes_gradient(format, e), d, 0);
  if (by != "scale" && by != "zero_point") fail("by is \"{}\"; accepted: x, scale, zero_point", by);
  const Expr slope = by == "scale" ? slope_by_scale(format, e) : slope_by_zero_point(format, e);
  return select(slope == 0, typed(d.type(), 0), d * cast(d.type(), slope));  // 0 even where d is infinite
}

// Formats that do not group elements by where they lie.
std::optional<Transposed> transposed_rule(const TransposeArgs& a) {
  const Geometry::Kind kind = format_of(a.attributes).geometry.kind;
  if (a.operands.size() > 1 || (kind != Geometry::Kind::none && kind != Geometry::Kind::tensor)) return std::nullopt;
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

extern constinit const OpDef round_scaled_def{
    .name = "round_scaled",
    .doc = "fake_quant(x, scale, zero_point) with a scale and a zero point for each element, which broadcast.",
    .operands = {"x", "scale", optional("zero_point")},
    .attributes = kAttributes,
    .pointwise = round_scaled,
    .no_gradient = "it is what fake_quant becomes to be compiled, which has a straight-through gradient"};

extern constinit const OpDef round_scaled_gradient_def{
    .name = "round_scaled_gradient",
    .doc =
        "What each element adds to the gradient of an operand of fake_quant(x, scale, zero_point), from that of its "
        "result, d (docs/FORMATS.md, section 3.7).",
    .operands = {"x", "scale", "d", optional("zero_point")},
    .attributes = kByAttributes,
    .pointwise = round_scaled_gradient,
    .no_gradient = "a straight-through gradient has no derivative worth the name"};

extern constinit const OpDef fake_quant_def{
    .name = "fake_quant",
    .doc =
        "x rounded to what a number format can hold, scales included; NaN stays NaN. With a scale the format's own is "
        "not asked (docs/FORMATS.md, section 3.7): the scale of each group, the log2 of a power of two, the step of "
        "fixed point.",
    .operands = {"x", optional("scale"), optional("zero_point")},
    .attributes = kAttributes,
    .infer = infer_fake_quant,
    .eval = eval_fake_quant,
    .transposed = transposed_rule};

}  // namespace hone
