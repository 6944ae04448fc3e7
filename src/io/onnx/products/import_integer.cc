// Products of codes, summed as integers: MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv; DynamicQuantizeMatMul,
// MatMulIntegerToFloat and QGemm of com.microsoft.
//
// Products with weights that are known, and fit i8 when their zero points are taken off, are sums of i32 by linear and
// conv. The others become products of floats that hold every sum exactly. A code minus its zero point is at most 255
// in magnitude, so sums of up to 258 products fit the 24 bits of f32, longer ones with weights that are known and small
// as well; the rest is computed in f64.
#include <cmath>

#include "io/onnx/affine.h"
#include "io/onnx/window_attributes.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/conv.h"
#include "ops/calls/linear.h"
#include "ops/calls/matmul.h"
#include "ops/calls/quantize_linear.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transpose.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

constexpr const char* kMicrosoft = "com.microsoft";
constexpr double kLargestCode = 255, kExactInF32 = 1 << 24;

// Codes and their zero point (kNone: 0), which broadcasts to them. A matrix may be given as its transpose.
struct Codes {
  ValueId x = kNone, zero = kNone;
  bool transposed = false;
};

ValueId difference(const OnnxNode& n, const Codes& codes, DType dtype) {
  const Attributes to_f32{{"dtype", DType::f32}};
  return n.cast(n.emit({&dequantize_linear_def, {codes.x, n.scalar(1, DType::f32), codes.zero}, to_f32}), dtype);
}

// Codes have a byte each.
bool is_byte(DType dtype) {
  return dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i4 || dtype == DType::u4;
}

// The largest sum of magnitudes over what one index of `axis` has.
double largest_sum(const Tensor& codes, const Tensor* zero, size_t axis) {
  const bool is_signed = codes.dtype() == DType::i8 || codes.dtype() == DType::i4;
  const std::span<const std::byte> x = codes.data().bytes();
  const std::vector<double> zeros = zero ? zero->to_doubles() : std::vector<double>{0};
  const auto length = static_cast<size_t>(codes.shape()[axis]);
  if (zeros.size() != 1 && zeros.size() != length) fail("{} zero points for {} outputs", zeros.size(), length);
  size_t inner = 1;
  for (size_t i = axis + 1; i < codes.shape().size(); ++i) inner *= static_cast<size_t>(codes.shape()[i]);
  std::vector<double> sums(length, 0.0);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t at = i / inner % length;
    const int code = is_signed ? static_cast<int8_t>(x[i]) : static_cast<uint8_t>(x[i]);
    sums[at] += std::abs(code - zeros[zeros.size() == 1 ? 0 : at]);
  }
  return length == 0 ? 0 : *std::max_element(sums.begin(), sums.end());
}

// A bound of the sum of magnitudes of `count` weights, which is tighter for weights that are known; `axis` of them is
// that of the outputs.
double bound_of_weights(const OnnxNode& n, const Codes& weights, size_t axis, const Dim& count) {
  const Tensor* known = weights.x == kNone ? nullptr : n.plain_constant(weights.x);
  const Tensor* zero = weights.zero == kNone ? nullptr : n.plain_constant(weights.zero);
  if (known && is_byte(known->dtype()) && axis < known->shape().size() && (weights.zero == kNone || zero))
    return largest_sum(*known, zero, axis);
  return count.is_constant() ? kLargestCode * static_cast<double>(count.constant()) : kExactInF32;
}

// The narrowest float that holds sums of products with such weights exactly, and what is added to them.
DType exact_dtype(double bound, double added = 0) {
  return kLargestCode * bound + added <= kExactInF32 ? DType::f32 : DType::f64;
}

// A zero point or scale for each row of a product [...,M,N], from one that may be [M].
ValueId per_row(const OnnxNode& n, ValueId v) {
  if (v == kNone || n.rank(v) != 1) return v;
  const Dim rows = n.shape(v, 1)[0];
  return rows == Dim(1) ? n.reshape(v, {}) : n.reshape(v, {rows, 1});
}

// One element as a scalar, so that it adds no dimension.
ValueId per_column(const OnnxNode& n, ValueId v) {
  return v != kNone && n.rank(v) == 1 && n.shape(v, 1)[0] == Dim(1) ? n.reshape(v, {}) : v;
}

// Codes less their zero points, one or one for each index of `axis`, as i8; none where they don't fit.
std::optional<Tensor> codes_as_i8(const Tensor& codes, const Tensor* zero, size_t axis) {
  const bool is_signed = codes.dtype() == DType::i8;
  const std::vector<int64_t> zeros = zero ? zero->to_integers() : std::vector<int64_t>{0};
  const auto length = static_cast<size_t>(codes.shape()[axis]);
  if (zeros.size() != 1 && zeros.size() != length) return std::nullopt;
  size_t inner = 1;
  for (size_t i = axis + 1; i < codes.shape().size(); ++i) inner *= static_cast<size_t>(codes.shape()[i]);
  Tensor values(DType::i8, codes.shape());
  const std::span<int8_t> to = values.mutable_as<int8_t>();
  for (size_t i = 0; const std::byte code : codes.data().bytes()) {
    const int64_t value = (is_signed ? static_cast<int8_t>(code) : static_cast<int64_t>(static_cast<uint8_t>(code))) -
                          zeros[zeros.size() == 1 ? 0 : i / inner % length];
    if (value < -128 || value > 127) return std::nullopt;
    to[i++] = static_cast<int8_t>(value);
  }
  return values;
}

// Weights [O,...] that a sum of i32 can have: known, of 8 bits, and too few for a sum to wrap.
std::optional<Tensor> known_weights(const OnnxNode& n, const Codes& w, size_t axis) {
  constexpr int64_t kMostProducts = 65536;
  const auto is_i8_or_u8 = [&](DType dtype) { return dtype == DType::i8 || dtype == DType::u8; };
  const Tensor* codes = n.plain_constant(w.x);
  const Tensor* zero = w.zero == kNone ? nullptr : n.plain_constant(w.zero);
  if (!codes || !is_i8_or_u8(codes->dtype()) || (w.zero != kNone && !zero) || axis >= codes->shape().size() ||
      codes->elements() == 0 || codes->elements() / codes->shape()[axis] > kMostProducts)
    return std::nullopt;
  return codes_as_i8(*codes, zero, axis);
}

// One zero point is taken off all activations, which have codes of 8 bits.
bool has_one_zero(const OnnxNode& n, const Codes& a) {
  const DType dtype = n.type(a.x).dtype;
  return (dtype == DType::i8 || dtype == DType::u8) &&
         (a.zero == kNone || (n.rank(a.zero) == 0 && n.type(a.zero).dtype == dtype));
}

// sums - zero * (the sums of each output's weights, as `shape`)
ValueId less_zero(const OnnxNode& n, ValueId sums, ValueId zero, const Tensor& w, const Shape& shape) {
  if (zero == kNone) return sums;
  std::vector<int32_t> of_weights(static_cast<size_t>(w.dim(0)));
  const auto each = static_cast<size_t>(w.elements() / w.dim(0));
  for (size_t i = 0; const int8_t code : w.as<int8_t>()) of_weights[i++ / each] += code;
  const ValueId known = n.constant(Tensor::of<int32_t>(constant_shape(shape), of_weights));
  return ops::sub(n, {sums, ops::mul(n, {n.cast(zero, DType::i32), known})});
}

// Sums of i32, where weights are known and activations have one zero point.
std::optional<ValueId> sums_with_known_weights(const OnnxNode& n, Codes a, const Codes& b) {
  a.zero = per_column(n, a.zero);
  if (n.rank(b.x) != 2 || !has_one_zero(n, a)) return std::nullopt;
  std::optional<Tensor> rows = known_weights(n, b, b.transposed ? 0 : 1);
  if (!rows) return std::nullopt;
  const Tensor* columns = &*rows;
  if (!b.transposed) rows = evaluate_node(transpose_def, {&columns, 1})[0];
  const ValueId sums = ops::linear(n, {.x = a.x, .w = n.constant(*rows)});
  return less_zero(n, sums, a.zero, *rows, {rows->dim(0)});
}

// Sums of products of codes as whole numbers, of i32 or of floats. Vectors are rows on the left, columns on the right.
ValueId matrix_product(const OnnxNode& n, Codes a, Codes b) {
  for (ValueId x : {a.x, b.x})
    if (n.rank(x) == 0) fail("%{} is a scalar; expected a matrix or vector", n.graph().value(x).name);
  if (a.transposed) a.x = n.transpose(a.x, {1, 0});
  if (const std::optional<ValueId> sums = sums_with_known_weights(n, a, b)) return *sums;
  if (b.transposed) b.x = n.transpose(b.x, {1, 0});
  const bool row = n.rank(a.x) == 1, column = n.rank(b.x) == 1;
  if (row) a.x = ops::unsqueeze(n, {.x = a.x, .axes = std::vector<int64_t>{0}});
  if (column) b.x = ops::unsqueeze(n, {.x = b.x, .axes = std::vector<int64_t>{1}});
  a.zero = per_row(n, a.zero);
  b.zero = per_column(n, b.zero);
  const size_t last = n.rank(b.x) - 1;
  const Dim count = n.shape(b.x)[last - 1];
  const bool is_matrix = last == 1 && (b.zero == kNone || n.rank(b.zero) <= 1);
  const DType dtype = exact_dtype(bound_of_weights(n, is_matrix ? b : Codes{}, last, count));
  ValueId y = ops::matmul(n, {difference(n, a, dtype), difference(n, b, dtype)});
  if (row) y = ops::squeeze(n, {.x = y, .axes = std::vector<int64_t>{-2}});
  if (column) y = ops::squeeze(n, {.x = y, .axes = std::vector<int64_t>{-1}});
  return y;
}

std::vector<ValueId> import_matmul_integer(OnnxNode& n) {
  return {n.cast(matrix_product(n, {n.in(0), n.in_or_none(2)}, {n.in(1), n.in_or_none(3)}), DType::i32)};
}

// sums * factor, rounded, plus the zero point at input `zero`.
ValueId requantized(const OnnxNode& n, ValueId sums, ValueId factor, ValueId zero) {
  const ValueId scaled = ops::mul(n, {n.cast(sums, DType::f32), factor});
  return ops::quantize_linear(
      n, {.x = scaled, .scale = n.scalar(1, DType::f32), .zero_point = zero, .dtype = n.type(zero).dtype});
}

// a_scale * b_scale / y_scale
ValueId factor_of(const OnnxNode& n, ValueId a, ValueId b, ValueId y) {
  const ValueId product = ops::mul(n, {n.cast(a, DType::f32), n.cast(b, DType::f32)});
  return y == kNone ? product : ops::div(n, {product, n.cast(per_column(n, y), DType::f32)});
}

std::vector<ValueId> import_qlinear_matmul(OnnxNode& n) {
  const ValueId sums = matrix_product(n, {n.in(0), n.in(2)}, {n.in(3), n.in(5)});
  const ValueId factor = factor_of(n, per_row(n, n.in(1)), per_column(n, n.in(4)), n.in(6));
  return {requantized(n, sums, factor, per_column(n, n.in(7)))};
}

// v [O] along the channels of [N,O,...]; one element as a scalar.
ValueId per_channel(const OnnxNode& n, ValueId v, size_t rank, bool of_weights) {
  if (v == kNone || n.rank(v) == 0) return v;
  const Dim channels = n.shape(v, 1)[0];
  if (channels == Dim(1)) return n.reshape(v, {});
  Shape shape(of_weights ? rank : rank - 1, 1);
  shape[0] = channels;
  return n.reshape(v, shape);
}

// Sums of i32 by a window over a line or a plane, where inputs fill lanes of four codes or can.
std::optional<ValueId> sums_of_known_window(const OnnxNode& n, Codes x, const Codes& w, ValueId bias) {
  const Attributes attributes = conv_attributes(n);
  const int64_t groups = attributes.get_or<int64_t>("groups", 1);
  const size_t rank = n.rank(w.x);
  x.zero = per_column(n, x.zero);
  if (rank > 4 || !has_one_zero(n, x) || (bias != kNone && n.type(bias).dtype != DType::i32)) return std::nullopt;
  const std::optional<Tensor> weights = known_weights(n, w, 0);
  if (!weights || (groups != 1 && weights->dim(1) % 4 != 0)) return std::nullopt;
  const ValueId sums = n.emit({&conv_def, {x.x, n.constant(*weights), bias, x.zero}, attributes});
  Shape of_channels(rank - 1, 1);
  of_channels[0] = weights->dim(0);
  return less_zero(n, sums, x.zero, *weights, of_channels);
}

// bias: i32 [O], or kNone.
ValueId convolution(const OnnxNode& n, Codes x, Codes w, ValueId bias) {
  const Shape shape = n.shape(w.x);
  const size_t rank = shape.size();
  if (rank < 3) fail("the weights are {}; expected [O,I,...]", to_string(n.type(w.x)));
  if (const std::optional<ValueId> sums = sums_of_known_window(n, x, w, bias)) return *sums;
  const Tensor* known = bias == kNone ? nullptr : n.plain_constant(bias);
  double added = bias == kNone ? 0 : kExactInF32;
  if (known) {
    added = 0;
    for (double value : known->to_doubles()) added = std::max(added, std::abs(value));
  }
  const Dim count = element_count(Shape(shape.begin() + 1, shape.end()));
  const DType dtype = exact_dtype(bound_of_weights(n, w, 0, count), added);
  x.zero = per_column(n, x.zero);
  w.zero = per_channel(n, w.zero, rank, true);
  const ValueId b = bias == kNone ? kNone : n.cast(bias, dtype);
  return n.emit({&conv_def, {difference(n, x, dtype), difference(n, w, dtype), b}, conv_attributes(n)});
}

std::vector<ValueId> import_conv_integer(OnnxNode& n) {
  return {n.cast(convolution(n, {n.in(0), n.in_or_none(2)}, {n.in(1), n.in_or_none(3)}, kNone), DType::i32)};
}

std::vector<ValueId> import_qlinear_conv(OnnxNode& n) {
  const ValueId sums = convolution(n, {n.in(0), n.in(2)}, {n.in(3), n.in(5)}, n.in_or_none(8));
  const ValueId w_scale = per_channel(n, n.in(4), n.rank(n.in(3)), false);
  return {requantized(n, sums, factor_of(n, per_column(n, n.in(1)), w_scale, n.in(6)), per_column(n, n.in(7)))};
}

// sums * factor [+ the bias at this input]
ValueId as_floats(const OnnxNode& n, ValueId sums, ValueId factor, int bias) {
  const ValueId y = ops::mul(n, {n.cast(sums, DType::f32), factor});
  return n.has(bias) ? ops::add(n, {y, n.in(bias)}) : y;
}

std::vector<ValueId> import_dynamic_quantize_matmul(OnnxNode& n) {
  const AffineCodes a = quantized_dynamically(n, n.in(0));
  const ValueId sums = matrix_product(n, {a.x, a.zero}, {n.in(1), n.in_or_none(3)});
  return {as_floats(n, sums, factor_of(n, a.scale, per_column(n, n.in(2)), kNone), 4)};
}

std::vector<ValueId> import_matmul_integer_to_float(OnnxNode& n) {
  const ValueId sums = matrix_product(n, {n.in(0), n.in_or_none(4)}, {n.in(1), n.in_or_none(5)});
  return {as_floats(n, sums, factor_of(n, per_row(n, n.in(2)), per_column(n, n.in(3)), kNone), 6)};
}

// C counts in units of alpha * a_scale * b_scale, as the sums do.
std::vector<ValueId> import_qgemm(OnnxNode& n) {
  ValueId sums = matrix_product(n, {n.in(0), n.in(2), n.is_not_zero("transA", false)},
                                {n.in(3), n.in(5), n.is_not_zero("transB", false)});
  if (n.has(6)) {
    const DType dtype = n.type(sums).dtype == n.type(n.in(6)).dtype ? DType::i32 : DType::f64;
    sums = ops::add(n, {n.cast(sums, dtype), n.cast(n.in(6), dtype)});
  }
  const ValueId scale = ops::mul(n, {per_column(n, n.in(1)), n.scalar(n.number("alpha", 1), DType::f32)});
  const ValueId factor = factor_of(n, scale, per_column(n, n.in(4)), n.in_or_none(7));
  if (!n.has(8)) return {as_floats(n, sums, factor, 9)};
  return {requantized(n, sums, factor, per_column(n, n.in(8)))};
}

constexpr OnnxOperator kOperators[] = {
    {"ConvInteger", 10, import_conv_integer},
    {"DynamicQuantizeMatMul", 1, import_dynamic_quantize_matmul, kMicrosoft},
    {"MatMulInteger", 10, import_matmul_integer},
    {"MatMulIntegerToFloat", 1, import_matmul_integer_to_float, kMicrosoft},
    {"QGemm", 1, import_qgemm, kMicrosoft},
    {"QLinearConv", 10, import_qlinear_conv},
    {"QLinearConv", 1, import_qlinear_conv, kMicrosoft},
    {"QLinearMatMul", 10, import_qlinear_matmul},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_integer_products_def{.name = "integer_products", .operators = kOperators};

}  // namespace hone
