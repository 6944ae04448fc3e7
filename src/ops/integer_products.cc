// What stands around products of codes (docs/FORMATS.md, section 11): quantize_dynamic before them, for scales that
// follow from the data, and dequantize_sums behind. The products are those of linear and conv.
#include "formats/codecs.h"
#include "formats/packed.h"
#include "formats/scale.h"
#include "ops/elements.h"
#include "ops/integer_activations.h"
#include "ops/pointwise_args.h"
#include "ops/rules.h"
#include "ops/scale_groups.h"

namespace hone {
namespace {

constexpr AttributeSpec kQuantizeAttributes[] = {
    {"format", AttributeKind::format, true, "int8, uint8 or uint8.asym, of the tensor or g1x0, of each row"}};

Format format_of(const Attributes& attributes) {
  const Format format = attributes.get<Format>("format");
  if (const std::string why = no_integer_activations(format); !why.empty()) fail("{}: {}", to_string(format), why);
  return format;
}

DType code_dtype(const Format& format) { return format.element.is_signed ? DType::i8 : DType::u8; }

std::vector<TensorType> infer_quantize(const InferArgs& a) {
  expect_float(a[0], "x");
  const Format format = format_of(a.attributes);
  const Shape scales = scale_shape(format, a[0].shape);
  return {plain_type(code_dtype(format), a[0].shape), plain_type(DType::f32, scales), plain_type(DType::u8, scales)};
}

// Rows without elements have the scale 1, as those of zeros.
std::vector<Tensor> eval_quantize(const EvalArgs& a) {
  const Format format = format_of(a.attributes);
  const Tensor packed = pack(format, plain(a[0]));
  const std::vector<int64_t> groups = sizes_of(a.results[1]);
  Tensor scales = Tensor::of<float>(groups, std::vector<float>(static_cast<size_t>(element_count(groups)), 1.0f)),
         zeros(DType::u8, groups);
  if (packed.elements() > 0) scales = Tensor(DType::f32, groups, packed.scales());
  if (packed.zero_points().size() > 0) zeros = Tensor(DType::u8, groups, packed.zero_points());
  return {Tensor(a.results[0].dtype, a[0].shape(), packed.data()), scales, zeros};
}

Expr dequantize_sums(Args a) {
  const bool has_zero = a.operands.size() > 4 && a[3] && a[4];
  if (!has_zero && a.operands.size() > 3 && (a[3] || (a.operands.size() > 4 && a[4])))
    fail("x_zero and w_sums only go together");
  for (size_t i : {size_t{0}, size_t{4}})
    if (i < a.operands.size() && a[i] && a.dtypes[i] != DType::i32)
      fail("operand {} has elements of type {}; accepted: i32", i, to_string(a.dtypes[i]));
  const Expr sums = has_zero ? a[0] - cast(Scalar::i32, number_operand(a, 3)) * a[4] : a[0];
  return cast(Scalar::f32, sums) * (cast(Scalar::f32, real_operand(a, 1)) * cast(Scalar::f32, real_operand(a, 2)));
}

}  // namespace

std::string no_integer_activations(const Format& format) {
  const Geometry& g = format.geometry;
  const bool has_rows = g.kind == Geometry::Kind::tile && g.rows == 1 && g.columns == 0;
  const bool is_integer = format.scale_kind == &f32_max_scale || format.scale_kind == &f32_range_scale;
  if (!is_integer || format.codec != &int_codec || format.element.bits != 8)
    return "no integers of 8 bits with scales of f32";
  if (format.scale.type != ScaleType::f32) return "its scales are stored in 16 bits";
  if (!has_rows && g.kind != Geometry::Kind::tensor) return "a scale for each group; accepted: tensor, g1x0";
  return "";
}

extern constinit const OpDef quantize_dynamic_def{
    .name = "quantize_dynamic",
    .doc =
        "x[...,K] as codes by a scale that its elements decide, as the format has it: codes of i8 or u8, the scales, "
        "one or [...,1] for each row, and their zero points (u8; 0 where the format has none).",
    .attributes = kQuantizeAttributes,
    .results = 3,
    .infer = infer_quantize,
    .eval = eval_quantize,
    .no_gradient = "codes change in jumps only; fake_quant has a straight-through gradient"};
extern constinit const OpDef dequantize_sums_def{
    .name = "dequantize_sums",
    .doc =
        "(sums - x_zero * w_sums) * (x_scale * w_scale): what sums of products of codes (i32, wrapping) stand for, as "
        "f32. w_sums are the sums of the weights' codes.",
    .operands = {"sums", "x_scale", "w_scale", optional("x_zero"), optional("w_sums")},
    .pointwise = dequantize_sums,
    .no_gradient = "integers have no gradient"};

}  // namespace hone
