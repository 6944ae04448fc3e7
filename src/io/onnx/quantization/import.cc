// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear; and operators of com.microsoft on codes that dequantize,
// compute in floats and quantize again.
#include <algorithm>

#include "io/onnx/affine.h"
#include "io/onnx/window_attributes.h"
#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/concat.h"
#include "ops/calls/pool.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/softmax.h"

namespace hone {
namespace {

constexpr const char* kMicrosoft = "com.microsoft";

DType dtype_or(const OnnxNode& n, const char* attribute, DType fallback) {
  // 0 stands for an attribute that is not set.
  return n.integer(attribute, 0) == 0 ? fallback : n.dtype(attribute);
}

AffineCodes operands(const OnnxNode& n) {
  return {n.in(0), n.in(1), n.in_or_none(2), n.integer("axis", 1), n.integer("block_size", 0)};
}

std::vector<ValueId> import_quantize_linear(OnnxNode& n) {
  AffineCodes codes = operands(n);
  const DType wanted = dtype_or(n, "output_dtype", DType::u8);
  const DType dtype = codes.zero == kNone ? wanted : n.type(codes.zero).dtype;
  DType precision = n.type(codes.scale).dtype;
  if (is_small(precision)) precision = DType::f32;  // powers of two as scales
  codes.scale = n.cast(codes.scale, dtype_or(n, "precision", precision));
  return {quantized(n, codes, dtype, n.is_not_zero("saturate", true))};
}

std::vector<ValueId> import_dequantize_linear(OnnxNode& n) {
  const AffineCodes codes = operands(n);
  return {dequantized(n, codes, dtype_or(n, "output_dtype", n.type(codes.scale).dtype))};
}

std::vector<ValueId> import_dynamic_quantize_linear(OnnxNode& n) {
  const AffineCodes codes = quantized_dynamically(n, n.in(0));
  return {codes.x, codes.scale, codes.zero};
}

// Codes in inputs first (x), first + 1 (scale), first + 2 (zero point).
ValueId floats_of(const OnnxNode& n, int first) {
  return dequantized(n, {n.in(first), n.in(first + 1), n.in_or_none(first + 2)}, DType::f32);
}

// In the element type of the codes at input `like`.
ValueId codes_of(const OnnxNode& n, ValueId x, int scale, int like = 0) {
  return quantized(n, {x, n.in(scale), n.in_or_none(scale + 1)}, n.type(n.in(like)).dtype);
}

template <const OpDef& op>
std::vector<ValueId> import_binary(OnnxNode& n) {
  return {codes_of(n, n.emit({&op, {floats_of(n, 0), floats_of(n, 3)}}), 6)};
}

std::vector<ValueId> import_sigmoid(OnnxNode& n) { return {codes_of(n, ops::sigmoid(n, {floats_of(n, 0)}), 3)}; }

std::vector<ValueId> import_leaky_relu(OnnxNode& n) {
  return {codes_of(n, ops::leaky_relu(n, {.x = floats_of(n, 0), .alpha = n.number("alpha", 0.01)}), 3)};
}

std::vector<int64_t> moved_axes(size_t rank, bool to_front) {
  std::vector<int64_t> perm(rank);
  for (size_t i = 0; i < rank; ++i) perm[i] = static_cast<int64_t>(i);
  if (to_front) std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
  else std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return perm;
}

// pool(x) of x with channels in the second place.
template <class Pool>
std::vector<ValueId> pooled(OnnxNode& n, Pool pool) {
  const bool last = n.is_not_zero("channels_last", false);
  const size_t rank = n.rank(n.in(0));
  if (rank < 3) fail("the input is {}; expected 3 dimensions or more", to_string(n.type(n.in(0))));
  const ValueId x = floats_of(n, 0);
  const ValueId y = pool(last ? n.transpose(x, moved_axes(rank, true)) : x);
  return {codes_of(n, last ? n.transpose(y, moved_axes(rank, false)) : y, 3)};
}

std::vector<ValueId> import_global_average_pool(OnnxNode& n) {
  return pooled(n, [&](ValueId x) {
    std::vector<int64_t> axes;
    for (size_t axis = 2; axis < n.rank(x); ++axis) axes.push_back(static_cast<int64_t>(axis));
    return ops::reduce_mean(n, {.x = x, .axes = axes});
  });
}

std::vector<ValueId> import_average_pool(OnnxNode& n) {
  Attributes attributes = window_attributes(n);
  attributes.set("kernel_shape", n.integers("kernel_shape"));
  attributes.set("count_include_pad", n.is_not_zero("count_include_pad", false));
  return pooled(n, [&](ValueId x) { return n.emit({&avg_pool_def, {x}, attributes}); });
}

std::vector<ValueId> import_concat(OnnxNode& n) {
  std::vector<ValueId> parts;
  for (int i = 2; i < n.inputs(); i += 3) parts.push_back(floats_of(n, i));
  return {codes_of(n, ops::concat(n, {.inputs = parts, .axis = n.integer("axis")}), 0, 2)};
}

// Before opset 13 of the main domain, all axes from `axis` on are one.
std::vector<ValueId> import_softmax(OnnxNode& n) {
  const ValueId x = floats_of(n, 0);
  const Shape shape = n.shape(x);
  const int64_t axis = n.integer("axis", -1);
  const bool joins = n.integer("opset") < 13;
  const ValueId rows = joins ? ops::flatten(n, {.x = x, .axis = axis}) : x;
  const ValueId y = ops::softmax(n, {.x = rows, .axis = joins ? int64_t{-1} : axis});
  return {codes_of(n, n.reshape(y, shape), 3)};
}

constexpr OnnxOperator kOperators[] = {
    {"DequantizeLinear", 10, import_dequantize_linear},
    {"DequantizeLinear", 1, import_dequantize_linear, kMicrosoft},
    {"DynamicQuantizeLinear", 11, import_dynamic_quantize_linear},
    {"QLinearAdd", 1, import_binary<add_def>, kMicrosoft},
    {"QLinearAveragePool", 1, import_average_pool, kMicrosoft},
    {"QLinearConcat", 1, import_concat, kMicrosoft},
    {"QLinearGlobalAveragePool", 1, import_global_average_pool, kMicrosoft},
    {"QLinearLeakyRelu", 1, import_leaky_relu, kMicrosoft},
    {"QLinearMul", 1, import_binary<mul_def>, kMicrosoft},
    {"QLinearSigmoid", 1, import_sigmoid, kMicrosoft},
    {"QLinearSoftmax", 1, import_softmax, kMicrosoft},
    {"QuantizeLinear", 10, import_quantize_linear},
    {"QuantizeLinear", 1, import_quantize_linear, kMicrosoft},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_quantization_def{.name = "quantization", .operators = kOperators};

}  // namespace hone
