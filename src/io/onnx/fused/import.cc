// Operators that ONNX Runtime's own optimiser writes (com.microsoft): an activation, a sum or a product with what stood
// around it; and normalisations with the residual sum before them. Attention is in attention/import.cc.
#include <algorithm>
#include <cmath>

#include "io/onnx/window_attributes.h"
#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/conv.h"
#include "ops/calls/full.h"
#include "ops/calls/gather.h"
#include "ops/calls/matmul.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/rounding.h"
#include "ops/calls/slice.h"
#include "ops/calls/split.h"
#include "ops/calls/transcendental.h"

namespace hone {
namespace {

constexpr const char* kMicrosoft = "com.microsoft";

// The sum of the inputs that are there, from the first on.
ValueId sum_of(OnnxNode& n, std::initializer_list<int> inputs) {
  ValueId sum = kNone;
  for (int i : inputs)
    if (n.has(i)) sum = sum == kNone ? n.in(i) : ops::add(n, {sum, n.in(i)});
  if (sum == kNone) fail("all inputs are absent");
  return sum;
}

std::vector<ValueId> import_gelu(OnnxNode& n) { return {ops::gelu(n, {sum_of(n, {0, 1})})}; }

std::vector<ValueId> import_fast_gelu(OnnxNode& n) {
  return {ops::gelu(n, {.x = sum_of(n, {0, 1}), .approximate = "tanh"})};
}

std::vector<ValueId> import_quick_gelu(OnnxNode& n) {
  const ValueId x = n.in(0);
  const ValueId inner = ops::mul(n, {x, n.scalar(n.number("alpha", 1.702), n.type(x).dtype)});
  return {ops::mul(n, {x, ops::sigmoid(n, {inner})})};
}

std::vector<ValueId> import_bias_split_gelu(OnnxNode& n) {
  const ValueId x = sum_of(n, {0, 1});
  const Shape shape = n.shape(x);
  if (shape.empty()) fail("the input is a scalar; expected columns");
  const Dim half = floordiv(shape.back(), 2);
  const std::vector<ValueId> halves = ops::split(n, {.x = x, .axis = -1, .sizes = Shape{half, half}});
  return {ops::mul(n, {halves[0], ops::gelu(n, {halves[1]})})};
}

std::vector<ValueId> import_bias_add(OnnxNode& n) { return {sum_of(n, {0, 1, 2})}; }

std::vector<ValueId> import_expand_dims(OnnxNode& n) {
  const auto axes = n.known_integers(n.in(1));
  if (!axes) n.unsupported("an axis that is computed; supported: a constant");
  return {ops::unsqueeze(n, {.x = n.in(0), .axes = *axes})};
}

// y, mean, 1 / deviation, sum: the second and third are for training.
std::vector<ValueId> import_skip_layer_normalization(OnnxNode& n) {
  if (n.wants(1) || n.wants(2))
    n.unsupported("outputs mean and inv_std_var; supported: output and input_skip_bias_sum");
  const bool simplified = n.op_type() == "SkipSimplifiedLayerNormalization";
  const ValueId sum = sum_of(n, {0, 1, simplified ? 3 : 4});
  const double epsilon = n.number("epsilon", 1e-12);
  const ValueId y =
      simplified ? ops::rms_norm(n, {.x = sum, .weight = n.in(2), .epsilon = epsilon})
                 : ops::layer_norm(n, {.x = sum, .weight = n.in(2), .bias = n.in_or_none(3), .epsilon = epsilon});
  return {y, kNone, kNone, sum};
}

// Rows 0 to S-1 of a table where there are no indices [B,S].
ValueId embedded(OnnxNode& n, ValueId table, ValueId indices, const Dim& length) {
  if (indices != kNone) return ops::gather(n, {.table = table, .indices = indices});
  return ops::slice(n, {.x = table, .starts = Shape{0}, .ends = Shape{length}});
}

// y, how many positions of each row the mask keeps, the sum of the embeddings.
std::vector<ValueId> import_embed_layer_normalization(OnnxNode& n) {
  const ValueId ids = n.in(0);
  const Dim batch = n.shape(ids, 2)[0], length = n.shape(ids, 2)[1];
  ValueId sum =
      ops::add(n, {ops::gather(n, {.table = n.in(2), .indices = ids}), embedded(n, n.in(3), n.in_or_none(8), length)});
  if (n.has(1)) sum = ops::add(n, {sum, ops::gather(n, {.table = n.in(4), .indices = n.in(1)})});
  const ValueId y =
      ops::layer_norm(n, {.x = sum, .weight = n.in(5), .bias = n.in(6), .epsilon = n.number("epsilon", 1e-12)});
  const ValueId kept = n.has(7) ? ops::reduce_sum(n, {.x = n.in(7), .axes = std::vector<int64_t>{1}, .keepdims = 0})
                                : ops::full(n, {.shape = Shape{batch}, .value = 0.0, .dtype = DType::i32});
  return {y, kept, sum};
}

// x [N,C,H,W]: each group of channels is normalised as one row.
ValueId group_normalised(OnnxNode& n, ValueId x, ValueId weight, ValueId bias, int64_t groups, double epsilon) {
  const Shape shape = n.shape(x, 4);
  const Dim row = floordiv(shape[1], groups) * shape[2] * shape[3];
  const ValueId rows = ops::layer_norm(n, {.x = n.reshape(x, {shape[0], groups, row}), .epsilon = epsilon});
  const auto per_channel = [&](ValueId vector) { return n.reshape(vector, {shape[1], 1, 1}); };
  const ValueId scaled = ops::mul(n, {n.reshape(rows, shape), per_channel(weight)});
  return ops::add(n, {scaled, per_channel(bias)});
}

// Channels last unless told otherwise, and silu after where `activation` is 1.
std::vector<ValueId> import_group_norm(OnnxNode& n) {
  const ValueId x = n.in(0);
  const bool last = n.is_not_zero("channels_last", true);
  if (n.rank(x) != 4) fail("the input is {}; expected 4 dimensions", to_string(n.type(x)));
  ValueId y = last ? n.transpose(x, {0, 3, 1, 2}) : x;
  y = group_normalised(n, y, n.in(1), n.in(2), n.count("groups"), n.number("epsilon", 1e-5));
  if (n.integer("activation") == 1) y = ops::silu(n, {y});
  return {last ? n.transpose(y, {0, 2, 3, 1}) : y};
}

// Axes in the order of the standard's MatMul: trans swaps the last two; transBatch moves the first behind the batch.
ValueId matmul_operand(OnnxNode& n, ValueId x, const char* trans, const char* batch) {
  const size_t rank = n.rank(x);
  std::vector<int64_t> perm;
  for (size_t i = 0; i < rank; ++i) perm.push_back(static_cast<int64_t>(i));
  if (rank >= 2 && n.is_not_zero(batch, false)) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (rank >= 2 && n.is_not_zero(trans, false)) std::swap(perm[rank - 1], perm[rank - 2]);
  return n.transpose(x, perm);
}

// In x's element type, which the products of narrow floats do not have.
ValueId scaled_product(OnnxNode& n, ValueId product) {
  const DType dtype = n.type(n.in(0)).dtype;
  const double alpha = n.number("alpha", 1);
  if (alpha != 1) product = ops::mul(n, {product, n.scalar(alpha, n.type(product).dtype)});
  return n.cast(product, dtype);
}

std::vector<ValueId> import_fused_matmul(OnnxNode& n) {
  const ValueId a = matmul_operand(n, n.in(0), "transA", "transBatchA"),
                b = matmul_operand(n, n.in(1), "transB", "transBatchB");
  return {scaled_product(n, ops::matmul(n, {a, b}))};
}

// The activation that a fused operator names; `parameter(i, fallback)` gives its i-th number.
template <class Parameter>
ValueId activated(OnnxNode& n, ValueId x, const std::string& name, Parameter parameter) {
  if (name.empty()) return x;
  if (name == "Relu") return ops::relu(n, {x});
  if (name == "Sigmoid") return ops::sigmoid(n, {x});
  if (name == "Tanh") return ops::tanh(n, {x});
  if (name == "LeakyRelu") return ops::leaky_relu(n, {.x = x, .alpha = parameter(0, 0.01)});
  if (name == "HardSigmoid")
    return ops::hard_sigmoid(n, {.x = x, .alpha = parameter(0, 0.2), .beta = parameter(1, 0.5)});
  if (name == "Clip") return ops::clip(n, {.x = x, .min = parameter(0, -INFINITY), .max = parameter(1, INFINITY)});
  n.unsupported(fmt::format("activation \"{}\"; supported: Relu, Sigmoid, Tanh, LeakyRelu, HardSigmoid, Clip", name));
}

std::vector<ValueId> import_fused_gemm(OnnxNode& n) {
  const ValueId a = n.is_not_zero("transA", false) ? n.transpose(n.in(0), {1, 0}) : n.in(0);
  ValueId y = scaled_product(n, ops::matmul(n, {.a = a, .b = n.in(1), .transpose_b = n.is_not_zero("transB", false)}));
  if (n.has(2) && n.number("beta", 1) != 0)  // else not read
    y = ops::add(n, {y, ops::mul(n, {n.in(2), n.scalar(n.number("beta", 1), n.type(y).dtype)})});
  constexpr const char* kParameters[] = {"activation_alpha", "activation_beta"};
  return {activated(n, y, n.text("activation", ""),
                    [&](int i, double fallback) { return n.number(kParameters[i], fallback); })};
}

std::vector<ValueId> import_fused_conv(OnnxNode& n) {
  ValueId y = n.emit({&conv_def, {n.in(0), n.in(1), n.in_or_none(2)}, conv_attributes(n)});
  if (n.has(3)) y = ops::add(n, {y, n.in(3)});
  const std::vector<double> parameters = n.numbers("activation_params", std::vector<double>());
  return {activated(n, y, n.text("activation", ""), [&](int i, double fallback) {
    return static_cast<size_t>(i) < parameters.size() ? parameters[static_cast<size_t>(i)] : fallback;
  })};
}

// Channels last in x, w and y.
std::vector<ValueId> import_nhwc_conv(OnnxNode& n) {
  const ValueId x = n.transpose(n.in(0), {0, 3, 1, 2}), w = n.transpose(n.in(1), {0, 3, 1, 2});
  return {n.transpose(n.emit({&conv_def, {x, w, n.in_or_none(2)}, conv_attributes(n)}), {0, 2, 3, 1})};
}

constexpr OnnxOperator kOperators[] = {
    {"BiasAdd", 1, import_bias_add, kMicrosoft},
    {"BiasGelu", 1, import_gelu, kMicrosoft},
    {"BiasSplitGelu", 1, import_bias_split_gelu, kMicrosoft},
    {"EmbedLayerNormalization", 1, import_embed_layer_normalization, kMicrosoft},
    {"ExpandDims", 1, import_expand_dims, kMicrosoft},
    {"FastGelu", 1, import_fast_gelu, kMicrosoft},
    {"FusedConv", 1, import_fused_conv, kMicrosoft},
    {"FusedGemm", 1, import_fused_gemm, kMicrosoft},
    {"FusedMatMul", 1, import_fused_matmul, kMicrosoft},
    {"Gelu", 1, import_gelu, kMicrosoft},
    {"GroupNorm", 1, import_group_norm, kMicrosoft},
    {"NhwcConv", 1, import_nhwc_conv, kMicrosoft},
    {"QuickGelu", 1, import_quick_gelu, kMicrosoft},
    {"SkipLayerNormalization", 1, import_skip_layer_normalization, kMicrosoft},
    {"SkipSimplifiedLayerNormalization", 1, import_skip_layer_normalization, kMicrosoft},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_fused_def{.name = "fused", .operators = kOperators};

}  // namespace hone
