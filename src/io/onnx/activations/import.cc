// Activation functions and the softmax family.
#include "base/checked.h"
#include "io/onnx/direct.h"
#include "ops/calls/activations.h"
#include "ops/calls/argmax.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/comparison.h"
#include "ops/calls/full.h"
#include "ops/calls/softmax.h"

namespace hone {
namespace {

using onnx::import_direct;

// Attribute `theirs` of the operator, under the name that the op gives it.
struct Renamed {
  const char *theirs, *ours;
};

std::vector<ValueId> import_with_numbers(OnnxNode& n, const OpDef& op, std::initializer_list<Renamed> names) {
  Attributes attributes;
  for (const auto& [theirs, ours] : names)
    if (n.has_attribute(theirs)) attributes.set(ours, n.number(theirs));
  return {n.emit({&op, {n.in(0)}, attributes})};
}

template <const OpDef& op>
std::vector<ValueId> import_with_alpha(OnnxNode& n) {
  return import_with_numbers(n, op, {{"alpha", "alpha"}});
}

std::vector<ValueId> import_selu(OnnxNode& n) {
  return import_with_numbers(n, selu_def, {{"alpha", "alpha"}, {"gamma", "gamma"}});
}

std::vector<ValueId> import_hard_sigmoid(OnnxNode& n) {
  return import_with_numbers(n, hard_sigmoid_def, {{"alpha", "alpha"}, {"beta", "beta"}});
}

// Integers are shrunk as floats, and truncated.
std::vector<ValueId> import_shrink(OnnxNode& n) {
  const DType dtype = n.type(n.in(0)).dtype;
  const ValueId x = n.cast(n.in(0), is_float(dtype) ? dtype : DType::f64);
  const ValueId y = ops::shrink(n, {.x = x, .threshold = n.number("lambd", 0.5), .bias = n.number("bias", 0.0)});
  return {n.cast(y, dtype)};
}

std::vector<ValueId> import_gelu(OnnxNode& n) {
  return {ops::gelu(n, {.x = n.in(0), .approximate = n.text("approximate", "none")})};
}

// Before version 7 a slope per channel lies along axis 1.
std::vector<ValueId> import_prelu_1(OnnxNode& n) {
  const ValueId x = n.in(0), slope = n.in(1);
  const size_t rank = n.rank(x);
  if (rank < 3 || n.rank(slope) != 1) return import_direct<prelu_def>(n);
  Shape shape(rank - 1, 1);
  shape[0] = n.shape(slope, 1)[0];
  return {ops::prelu(n, {.x = x, .slope = n.reshape(slope, shape)})};
}

std::vector<ValueId> import_swiglu(OnnxNode& n) { return {ops::mul(n, {import_with_alpha<silu_def>(n)[0], n.in(1)})}; }

// 1 where argmax along the axis is.
ValueId hardmax(OnnxNode& n, ValueId x, int64_t axis) {
  const Shape shape = n.shape(x);
  const size_t place = checked_axis(axis, shape.size());
  const auto own = static_cast<int64_t>(place);
  Shape positions(shape.size(), 1);
  positions[place] = shape[place];
  const ValueId best = ops::argmax(n, {.x = x, .axis = own, .keepdims = 1});
  const ValueId position = ops::iota(n, {.shape = positions, .axis = own});
  return n.cast(ops::equal(n, {position, best}), n.type(x).dtype);
}

template <const OpDef& op>
ValueId along_axis(OnnxNode& n, ValueId x, int64_t axis) {
  return n.emit({&op, {x}, {{"axis", axis}}});
}

using AlongAxis = ValueId (*)(OnnxNode&, ValueId, int64_t);

template <AlongAxis applied>
std::vector<ValueId> import_softmax(OnnxNode& n) {
  return {applied(n, n.in(0), n.integer("axis", -1))};
}

// Before version 13 the dimensions from `axis` on are one.
template <AlongAxis applied>
std::vector<ValueId> import_softmax_1(OnnxNode& n) {
  const ValueId x = n.in(0);
  const Shape shape = n.shape(x);
  const auto rank = static_cast<int64_t>(shape.size()), given = n.integer("axis", 1);
  if (given < -rank || given > rank) fail("axis {} does not exist in {}", given, to_string(n.type(x)));
  const int64_t axis = given < 0 ? given + rank : given;
  if (axis == rank - 1) return {applied(n, x, -1)};
  const Shape lead(shape.begin(), shape.begin() + axis), rest(shape.begin() + axis, shape.end());
  const ValueId matrix = n.reshape(x, {element_count(lead), element_count(rest)});
  return {n.reshape(applied(n, matrix, -1), shape)};
}

constexpr OnnxOperator kOperators[] = {
    {"Celu", 12, import_with_alpha<celu_def>},
    {"Elu", 1, import_with_alpha<elu_def>},
    {"Gelu", 20, import_gelu},
    {"HardSigmoid", 1, import_hard_sigmoid},
    {"HardSwish", 14, import_direct<hard_swish_def>},
    {"Hardmax", 1, import_softmax_1<hardmax>},
    {"Hardmax", 13, import_softmax<hardmax>},
    {"LeakyRelu", 1, import_with_alpha<leaky_relu_def>},
    {"LogSoftmax", 1, import_softmax_1<along_axis<log_softmax_def>>},
    {"LogSoftmax", 13, import_softmax<along_axis<log_softmax_def>>},
    {"Mish", 18, import_direct<mish_def>},
    {"PRelu", 1, import_prelu_1},
    {"PRelu", 7, import_direct<prelu_def>},
    {"Relu", 1, import_direct<relu_def>},
    {"Selu", 1, import_selu},
    {"Shrink", 9, import_shrink},
    {"Sigmoid", 1, import_direct<sigmoid_def>},
    {"Softmax", 1, import_softmax_1<along_axis<softmax_def>>},
    {"Softmax", 13, import_softmax<along_axis<softmax_def>>},
    {"Softplus", 1, import_direct<softplus_def>},
    {"Softsign", 1, import_direct<softsign_def>},
    {"SwiGLU", 28, import_swiglu},
    {"Swish", 24, import_with_alpha<silu_def>},
    {"ThresholdedRelu", 10, import_with_alpha<thresholded_relu_def>},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_activations_def{.name = "activations", .operators = kOperators};

}  // namespace hone
