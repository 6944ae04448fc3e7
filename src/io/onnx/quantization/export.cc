// Quantization: quantize_linear and dequantize_linear with one scale or one for each index of an axis; and fake_quant
// where QuantizeLinear and DequantizeLinear do the same.
#include <algorithm>
#include <cmath>

#include "formats/codecs.h"
#include "formats/scale.h"
#include "io/onnx/export_direct.h"

namespace hone::onnx {
namespace {

// Scale or zero point as ONNX takes them: of rank 0, or a vector along `axis`.
struct Affine {
  std::string scale, zero_point;
  Attributes attributes;
};

// The one axis of `shape`, seen beside x of `rank` dimensions, that is longer than 1; -1 where there is none, and
// nothing for several.
std::optional<int64_t> axis_of(const TensorType& type, size_t rank) {
  int64_t axis = -1;
  for (size_t i = 0; i < type.rank(); ++i) {
    if (type.shape[i] == Dim(1)) continue;
    if (axis >= 0 || type.rank() > rank) return std::nullopt;
    axis = static_cast<int64_t>(rank - type.rank() + i);
  }
  return axis;
}

std::string in_shape(const ExportNode& n, size_t operand, bool is_vector) {
  const std::vector<int64_t> shape = is_vector ? std::vector<int64_t>{-1} : std::vector<int64_t>{};
  if (const Tensor* value = n.constant(operand); value && !value->is_packed())
    return n.constant(value->reshaped(is_vector ? std::vector<int64_t>{value->elements()} : shape));
  return n.type(operand).rank() == shape.size() ? n.in(operand) : n.emit("Reshape", {n.in(operand), n.integers(shape)});
}

std::optional<Affine> affine_of(const ExportNode& n, DType codes) {
  const auto along = n.type(0).ranked && n.type(1).ranked ? axis_of(n.type(1), n.type(0).rank()) : std::nullopt;
  if (!along || n.type(1).dtype != DType::f32) return std::nullopt;
  if (n.has(2) && (n.type(2).dtype != codes || n.type(2).shape != n.type(1).shape)) return std::nullopt;
  Affine affine{.scale = in_shape(n, 1, *along >= 0), .zero_point = "", .attributes = {}};
  if (n.has(2)) affine.zero_point = in_shape(n, 2, *along >= 0);
  if (*along >= 0) affine.attributes.set("axis", *along);
  return affine;
}

int opset_of(DType codes) {
  if (codes == DType::f6e2m3 || codes == DType::f6e3m2) return 28;
  if (codes == DType::i2 || codes == DType::u2) return 25;
  if (codes == DType::f4e2m1) return 23;
  if (is_small(codes) && is_float(codes)) return 19;
  return codes == DType::i8 || codes == DType::u8 ? 13 : 21;
}

Names quantize_linear(const ExportNode& n) {
  const DType codes = n.result_type().dtype;
  std::optional<Affine> affine = affine_of(n, codes);
  if (!affine) return write_expression(n);
  n.needs(opset_of(codes), fmt::format("QuantizeLinear to {}", to_string(codes)));
  if (affine->zero_point.empty()) {  // it gives the type of the result
    const bool is_vector = affine->attributes.has("axis");
    if (is_vector && !n.type(1).is_static()) return write_expression(n);
    affine->zero_point =
        n.constant(Tensor(codes, is_vector ? std::vector<int64_t>{element_count(constant_shape(n.type(1).shape))}
                                           : std::vector<int64_t>{}));
  }
  return {n.emit("QuantizeLinear", {n.in_as(0, DType::f32), affine->scale, affine->zero_point}, affine->attributes)};
}

Names dequantize_linear(const ExportNode& n) {
  const DType codes = n.type(0).dtype;
  const std::optional<Affine> affine = affine_of(n, codes);
  if (!affine || (is_float(codes) && !is_small(codes)) || (is_integer(codes) && integer_bits(codes) > 16))
    return write_expression(n);
  n.needs(opset_of(codes), fmt::format("DequantizeLinear of {}", to_string(codes)));
  const std::string y = n.emit("DequantizeLinear", {n.in(0), affine->scale, affine->zero_point}, affine->attributes);
  return {n.cast(y, DType::f32, n.result_type().dtype)};
}

// --- fake_quant ------------------------------------------------------------------------------------------------------

[[noreturn]] void no_such_activations(const Format& format) {
  not_in_onnx(
      "QuantizeLinear can't round to {} as it goes; formats of activations that fit: int<W>.f<F>, int<W> and "
      "uint<W> of up to 8 bits for the whole tensor or per channel",
      to_string(format));
}

// The scale of FORMATS 4.1, computed from x: max |x| / largest code, at least 2^-126; 1 for zeros.
std::string scale_of(const ExportNode& n, const std::string& x, const Format& format, int64_t axis) {
  std::vector<int64_t> others;
  for (int64_t i = 0; i < static_cast<int64_t>(n.rank(0)); ++i)
    if (i != axis) others.push_back(i);
  const bool is_signed = format.element.is_signed;
  const double largest = std::ldexp(1, format.element.bits - (is_signed ? 1 : 0)) - 1;
  const auto number = [&](double value) { return n.number(value, DType::f32); };
  std::string most = is_signed ? n.emit("Abs", {x}) : n.emit("Max", {x, number(0)});
  if (!others.empty()) most = n.reduce("ReduceMax", most, others);
  most = n.emit("Reshape", {n.emit("Min", {most, number(0x1p127)}),
                            n.integers(axis < 0 ? std::vector<int64_t>{} : std::vector<int64_t>{-1})});
  const std::string scale = n.emit("Max", {n.emit("Div", {most, number(largest)}), number(0x1p-126)});
  return n.emit("Where", {n.emit("Greater", {most, number(0)}), scale, number(1)});
}

// By a scale that is given, which is what QuantizeLinear takes; a symmetric format's lowest code is cut off before it.
Names learned(const ExportNode& n, const Format& format) {
  const ElementParams& element = format.element;
  const bool fits = format.codec == &int_codec && element.bits == 8 && format.scale.type == ScaleType::f32 &&
                    (format.scale_kind == &f32_max_scale || format.scale_kind == &f32_range_scale) &&
                    format.geometry.kind == Geometry::Kind::tensor;
  const Tensor* const scale = n.constant(1);
  const Tensor* const zero = n.has(2) ? n.constant(2) : nullptr;
  if (!fits || !scale || (n.has(2) && !zero))
    not_in_onnx(
        "QuantizeLinear can't round to {} by a scale that is given; formats that fit: int8, uint8 and uint8.asym of "
        "the "
        "whole tensor, by constants",
        to_string(format));
  const float step = std::max(scale->to_floats()[0], 0x1p-126f);
  const DType codes = element.is_signed ? DType::i8 : DType::u8;
  std::string x = n.in_as(0, DType::f32);
  if (element.is_signed) x = n.emit("Max", {x, n.number(-127.0 * step, DType::f32)});
  const int64_t zero_point = zero ? std::clamp<int64_t>(std::llrint(zero->to_floats()[0]), 0, 255) : 0;
  const std::string s = n.number(step, DType::f32),
                    z = n.constant(Tensor::of<int64_t>({}, {zero_point}).converted(codes));
  const std::string q = n.emit("QuantizeLinear", {x, s, z});
  return {n.cast(n.emit("DequantizeLinear", {q, s, z}), DType::f32, n.result_type().dtype)};
}

Names fake_quant(const ExportNode& n) {
  const Format& format = n.attributes().get<Format>("format");
  if (n.has(1)) return learned(n, format);
  const ElementParams& element = format.element;
  const bool is_integer = format.codec == &int_codec && element.bits <= 8 && format.scale.type == ScaleType::f32 &&
                          (format.scale_kind == &no_scale || format.scale_kind == &f32_max_scale);
  const bool fixed_point = format.geometry.kind == Geometry::Kind::none;
  const bool whole = format.geometry.kind == Geometry::Kind::tensor,
             channel = format.geometry.kind == Geometry::Kind::channel;
  if (!is_integer || element.round_floor || !(fixed_point || whole || channel)) no_such_activations(format);
  const auto rank = static_cast<int64_t>(n.rank(0));
  const int64_t axis = !channel ? -1 : format.geometry.axis < 0 ? format.geometry.axis + rank : format.geometry.axis;
  std::string x = n.in_as(0, DType::f32);
  const double step = std::ldexp(1, -element.fraction_bits);
  if (fixed_point && element.bits < 8) {  // int8 would hold more
    const double low = element.is_signed ? -std::ldexp(step, element.bits - 1) : 0,
                 high = std::ldexp(step, element.bits - (element.is_signed ? 1 : 0)) - step;
    x = n.emit("Clip", {x, n.number(low, DType::f32), n.number(high, DType::f32)});
  }
  const std::string scale = fixed_point ? n.number(step, DType::f32) : scale_of(n, x, format, axis);
  const DType codes = element.is_signed ? DType::i8 : DType::u8;
  Attributes attributes;
  std::string zero_point = n.constant(Tensor(codes, {}));
  if (channel) {
    const Dim& length = n.type(0).shape.at(static_cast<size_t>(axis));
    zero_point = n.emit("Expand", {zero_point, n.sizes({length})});
    attributes.set("axis", axis);
  }
  const std::string q = n.emit("QuantizeLinear", {x, scale, zero_point}, attributes);
  return {n.cast(n.emit("DequantizeLinear", {q, scale, zero_point}, attributes), DType::f32, n.result_type().dtype)};
}

constexpr ExportRule kRules[] = {{"dequantize_linear", dequantize_linear},
                                 {"fake_quant", fake_quant},
                                 {"round_to", fake_quant},
                                 {"quantize_linear", quantize_linear}};

}  // namespace

std::span<const ExportRule> quantization_rules() { return kRules; }

}  // namespace hone::onnx
