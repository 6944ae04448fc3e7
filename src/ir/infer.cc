// Types of a node's results: operand count and attributes against the op's definition, then its shape rule.
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "ir/graph.h"
#include "ir/node_rules.h"
#include "ir/pointwise.h"

namespace hone {
namespace {

std::string operand_list(std::span<const TensorType* const> operands) {
  std::string list;
  for (const TensorType* type : operands) list += (list.empty() ? "" : ", ") + (type ? to_string(*type) : "_");
  return list.empty() ? "no operands" : list;
}

void check_operands(const OpDef& op, std::span<const TensorType* const> operands) {
  const auto count = static_cast<int>(operands.size());
  if (count < op.min_operands || (op.max_operands >= 0 && count > op.max_operands)) {
    const std::string accepted = op.max_operands < 0 ? fmt::format("at least {}", op.min_operands)
                                 : op.min_operands == op.max_operands
                                     ? fmt::format("{}", op.min_operands)
                                     : fmt::format("{} to {}", op.min_operands, op.max_operands);
    fail("takes {} operands, found {}", accepted, count);
  }
  for (int i = 0; i < op.min_operands; ++i)
    if (!operands[static_cast<size_t>(i)]) fail("operand {} is required but absent", i);
}

const AttributeSpec* find_spec(const OpDef& op, const std::string& name) {
  for (const AttributeSpec& spec : op.attributes)
    if (name == spec.name) return &spec;
  return nullptr;
}

constexpr const char* kKindNames[] = {"integer",         "number",          "string",    "list of integers",
                                      "list of numbers", "list of strings", "dimension", "shape",
                                      "element type",    "format",          "tensor"};

}  // namespace

std::string_view to_string(AttributeKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

const AttributeSpec& attribute_spec(const OpDef& op, const std::string& name) {
  if (const AttributeSpec* spec = find_spec(op, name)) return *spec;
  std::vector<std::string> names;
  for (const AttributeSpec& spec : op.attributes) names.emplace_back(spec.name);
  std::string known;
  for (const std::string& each : names) known += (known.empty() ? "" : ", ") + each;
  fail("unknown attribute {}; known: {}{}", name, known.empty() ? "none" : known, did_you_mean(name, names));
}

Attributes normalised(const OpDef& op, Attributes attributes) {
  Attributes result;
  for (const auto& [name, value] : attributes.items()) {
    const AttributeKind kind = attribute_spec(op, name).kind;
    Attribute adapted = value;
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      if (kind == AttributeKind::number) adapted = static_cast<double>(*integer);
      if (kind == AttributeKind::dim) adapted = Dim(*integer);
    }
    if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) {
      if (kind == AttributeKind::shape) adapted = to_shape(*integers);
      if (kind == AttributeKind::numbers) adapted = std::vector<double>(integers->begin(), integers->end());
    }
    result.set(name, std::move(adapted));
  }
  return result;
}

void check_attributes(const OpDef& op, const Attributes& attributes) {
  for (const auto& [name, value] : attributes.items()) {
    const AttributeSpec& spec = attribute_spec(op, name);
    if (value.index() != static_cast<size_t>(spec.kind))
      fail("attribute {}: expected a {}", name, to_string(spec.kind));
  }
  for (const AttributeSpec& spec : op.attributes)
    if (spec.required && !attributes.has(spec.name))
      fail("attribute {} ({}) is missing", spec.name, to_string(spec.kind));
}

std::vector<TensorType> infer_results(const OpDef& op, std::span<const TensorType* const> operands,
                                      std::span<const Tensor* const> constants, const Attributes& attributes) {
  CHECK(operands.size() == constants.size());
  std::vector<TensorType> types;
  try {
    check_operands(op, operands);
    check_attributes(op, attributes);
    const InferArgs args{operands, constants, attributes};
    CHECK(op.infer || op.pointwise, "{} has no shape rule", op.name);
    types = op.infer ? op.infer(args) : infer_pointwise(op, args);
  } catch (const Error& error) {
    fail("{}({}): {}", op.name, operand_list(operands), error.what());
  }
  CHECK(op.results < 0 || types.size() == static_cast<size_t>(op.results), "{} gave {} results", op.name, types.size());
  return types;
}

}  // namespace hone
