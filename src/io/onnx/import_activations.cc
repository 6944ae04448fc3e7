// Activation functions and the softmax family.
#include "base/checked.h"
#include "io/onnx/direct.h"

namespace hone {
namespace {

using onnx::import_direct;

// Attribute `theirs` of the operator, under the name that the op gives it.
struct Renamed {
  const char *theirs, *ours;
};

std::vector<ValueId> import_with_numbers(OnnxNode& n, const char* op, std::initializer_list<Renamed> names) {
  Attributes attributes;
  for (const auto& [theirs, ours] : names)
    if (n.has_attribute(theirs)) attributes.set(ours, n.number(theirs));
  return {n.emit(op, {n.in(0)}, attributes)};
}

template <onnx::OpName op>
std::vector<ValueId> import_with_alpha(OnnxNode& n) {
  return import_with_numbers(n, op.text, {{"alpha", "alpha"}});
}

std::vector<ValueId> import_selu(OnnxNode& n) {
  return import_with_numbers(n, "selu", {{"alpha", "alpha"}, {"gamma", "gamma"}});
}

std::vector<ValueId> import_hard_sigmoid(OnnxNode& n) {
  return import_with_numbers(n, "hard_sigmoid", {{"alpha", "alpha"}, {"beta", "beta"}});
}

// Integers are shrunk as floats, and truncated.
std::vector<ValueId> import_shrink(OnnxNode& n) {
  const DType dtype = n.type(n.in(0)).dtype;
  const ValueId x = n.cast(n.in(0), is_float(dtype) ? dtype : DType::f64);
  const ValueId y = n.emit("shrink", {x}, {{"threshold", n.number("lambd", 0.5)}, {"bias", n.number("bias", 0.0)}});
  return {n.cast(y, dtype)};
}

std::vector<ValueId> import_gelu(OnnxNode& n) {
  return {n.emit("gelu", {n.in(0)}, {{"approximate", n.text("approximate", "none")}})};
}

// Before version 7 a slope per channel lies along axis 1.
std::vector<ValueId> import_prelu_1(OnnxNode& n) {
  const ValueId x = n.in(0), slope = n.in(1);
  const size_t rank = n.rank(x);
  if (rank < 3 || n.rank(slope) != 1) return import_direct<"prelu">(n);
  Shape shape(rank - 1, 1);
  shape[0] = n.shape(slope, 1)[0];
  return {n.emit("prelu", {x, n.reshape(slope, shape)})};
}

std::vector<ValueId> import_swiglu(OnnxNode& n) { return {n.emit("mul", {import_with_alpha<"silu">(n)[0], n.in(1)})}; }

// 1 where argmax along the axis is.
ValueId hardmax(OnnxNode& n, ValueId x, int64_t axis) {
  const Shape shape = n.shape(x);
  const size_t place = checked_axis(axis, shape.size());
  const auto own = static_cast<int64_t>(place);
  Shape positions(shape.size(), 1);
  positions[place] = shape[place];
  const ValueId best = n.emit("argmax", {x}, {{"axis", own}, {"keepdims", int64_t{1}}});
  const ValueId position = n.emit("iota", {}, {{"shape", positions}, {"axis", own}});
  return n.cast(n.emit("equal", {position, best}), n.type(x).dtype);
}

ValueId along_axis(OnnxNode& n, std::string_view op, ValueId x, int64_t axis) {
  return op == "hardmax" ? hardmax(n, x, axis) : n.emit(op, {x}, {{"axis", axis}});
}

template <onnx::OpName op>
std::vector<ValueId> import_softmax(OnnxNode& n) {
  return {along_axis(n, op.text, n.in(0), n.integer("axis", -1))};
}

// Before version 13 the dimensions from `axis` on are one.
template <onnx::OpName op>
std::vector<ValueId> import_softmax_1(OnnxNode& n) {
  const ValueId x = n.in(0);
  const Shape shape = n.shape(x);
  const auto rank = static_cast<int64_t>(shape.size()), given = n.integer("axis", 1);
  if (given < -rank || given > rank) fail("axis {} does not exist in {}", given, to_string(n.type(x)));
  const int64_t axis = given < 0 ? given + rank : given;
  if (axis == rank - 1) return {along_axis(n, op.text, x, -1)};
  const Shape lead(shape.begin(), shape.begin() + axis), rest(shape.begin() + axis, shape.end());
  const ValueId matrix = n.reshape(x, {element_count(lead), element_count(rest)});
  return {n.reshape(along_axis(n, op.text, matrix, -1), shape)};
}

constexpr OnnxOperator kOperators[] = {
    {"Celu", 12, import_with_alpha<"celu">},
    {"Elu", 1, import_with_alpha<"elu">},
    {"Gelu", 20, import_gelu},
    {"HardSigmoid", 1, import_hard_sigmoid},
    {"HardSwish", 14, import_direct<"hard_swish">},
    {"Hardmax", 1, import_softmax_1<"hardmax">},
    {"Hardmax", 13, import_softmax<"hardmax">},
    {"LeakyRelu", 1, import_with_alpha<"leaky_relu">},
    {"LogSoftmax", 1, import_softmax_1<"log_softmax">},
    {"LogSoftmax", 13, import_softmax<"log_softmax">},
    {"Mish", 18, import_direct<"mish">},
    {"PRelu", 1, import_prelu_1},
    {"PRelu", 7, import_direct<"prelu">},
    {"Relu", 1, import_direct<"relu">},
    {"Selu", 1, import_selu},
    {"Shrink", 9, import_shrink},
    {"Sigmoid", 1, import_direct<"sigmoid">},
    {"Softmax", 1, import_softmax_1<"softmax">},
    {"Softmax", 13, import_softmax<"softmax">},
    {"Softplus", 1, import_direct<"softplus">},
    {"Softsign", 1, import_direct<"softsign">},
    {"SwiGLU", 28, import_swiglu},
    {"Swish", 24, import_with_alpha<"silu">},
    {"ThresholdedRelu", 10, import_with_alpha<"thresholded_relu">},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_activations_def{.name = "activations", .operators = kOperators};

}  // namespace hone
