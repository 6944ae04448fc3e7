// Sequences and optionals, and Identity, which takes them as well as tensors.
#include "io/onnx/onnx_family.h"
#include "ops/calls/optional.h"
#include "ops/calls/sequence.h"
#include "ops/calls/sequence_map.h"
#include "passes/match.h"

namespace hone {
namespace {

// PyTorch's exporter stores one of several equal weights, and names the others by an Identity of it. Equal ones of a
// single number are fresh scales and biases, each of a layer of its own; other equal ones are shared.
bool is_fresh_weight(const OnnxNode& n, ValueId x) {
  const Tensor* const stored = n.constant(x);
  return stored && is_float(stored->dtype()) && !n.graph().value(x).label.empty() && uniform_value(n.graph(), x);
}

std::vector<ValueId> import_identity(OnnxNode& n) {
  const ValueId x = n.in(0);
  if (!is_fresh_weight(n, x) || n.graph().find_constant(n.output_name(0)) != kNone) return {x};
  return {n.constant(*n.constant(x), n.output_name(0))};
}

std::vector<ValueId> import_empty(OnnxNode& n) {
  return {ops::sequence_empty(n, {.dtype = n.dtype("dtype", DType::f32)})};
}

std::vector<ValueId> import_construct(OnnxNode& n) { return {ops::sequence_construct(n, {.items = n.all_inputs()})}; }
std::vector<ValueId> import_at(OnnxNode& n) {
  return {ops::sequence_at(n, {.sequence = n.in(0), .position = n.in(1)})};
}
std::vector<ValueId> import_length(OnnxNode& n) { return {ops::sequence_length(n, {.sequence = n.in(0)})}; }
std::vector<ValueId> import_erase(OnnxNode& n) {
  return {ops::sequence_erase(n, {.sequence = n.in(0), .position = n.in_or_none(1)})};
}

std::vector<ValueId> import_insert(OnnxNode& n) {
  return {ops::sequence_insert(n, {.sequence = n.in(0), .item = n.in(1), .position = n.in_or_none(2)})};
}

std::vector<ValueId> import_split(OnnxNode& n) {
  return {ops::sequence_split(n, {.x = n.in(0),
                                  .computed_lengths = n.in_or_none(1),
                                  .axis = n.integer("axis", 0),
                                  .keepdims = n.is_not_zero("keepdims", true)})};
}

std::vector<ValueId> import_concat(OnnxNode& n) {
  return {ops::sequence_concat(
      n, {.sequence = n.in(0), .axis = n.integer("axis"), .new_axis = n.is_not_zero("new_axis", false)})};
}

std::vector<ValueId> import_map(OnnxNode& n) {
  std::vector<ValueId> operands;
  std::vector<TensorType> inputs;
  for (int i = 0; i < n.inputs(); ++i) {
    operands.push_back(n.in(i));
    const TensorType& type = n.type(operands.back());
    inputs.push_back(type.container == Container::sequence ? type.item() : type);
  }
  const Attributes attributes{{"inputs", int64_t{n.inputs()}}};
  Graph body = n.body("body", inputs, operands);
  return n.emit_all({&sequence_map_def, std::move(operands), attributes, {std::move(body)}});
}

std::vector<ValueId> import_optional(OnnxNode& n) {
  if (n.has(0)) return {ops::optional(n, {n.in(0)})};
  const TensorType type = n.type_attribute("type");
  return {ops::optional(n, {.dtype = type.dtype, .sequence = type.container == Container::sequence})};
}

std::vector<ValueId> import_get_element(OnnxNode& n) { return {ops::optional_get_element(n, {n.in(0)})}; }

std::vector<ValueId> import_has_element(OnnxNode& n) {
  if (!n.has(0)) return {n.constant(Tensor::scalar<bool>(false))};
  return {ops::optional_has_element(n, {n.in(0)})};
}

constexpr OnnxOperator kOperators[] = {
    {"Identity", 1, import_identity},
    {"SequenceEmpty", 11, import_empty},
    {"SequenceConstruct", 11, import_construct},
    {"SequenceAt", 11, import_at},
    {"SequenceInsert", 11, import_insert},
    {"SequenceErase", 11, import_erase},
    {"SequenceLength", 11, import_length},
    {"SplitToSequence", 11, import_split},
    {"ConcatFromSequence", 11, import_concat},
    {"SequenceMap", 17, import_map},
    {"Optional", 15, import_optional},
    {"OptionalGetElement", 15, import_get_element},
    {"OptionalHasElement", 15, import_has_element},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_sequences_def{.name = "sequences", .operators = kOperators};

}  // namespace hone
