// Types of a node's results: operand count and attributes against the op's definition, then its shape rule.
#include <algorithm>
#include <stdexcept>

#include "base/error.h"
#include "base/stop.h"
#include "base/text.h"
#include "ir/graph.h"
#include "ir/node_rules.h"
#include "ir/pointwise.h"

namespace hone {
namespace {

std::string operand_list(std::span<const TensorType* const> operands) {
  std::string list;
  constexpr size_t kShown = 1000;  // characters
  for (const TensorType* type : operands) {
    list += (list.empty() ? "" : ", ") + (type ? to_string(*type) : "_");
    if (list.size() > kShown) {
      list.resize(kShown);
      return list.append("…");
    }
  }
  return list.empty() ? "no operands" : list;
}

void check_operands(const OpDef& op, std::span<const TensorType* const> operands) {
  const auto count = static_cast<int>(operands.size());
  const int least = op.operands.least(), most = op.operands.most();
  if (count < least || (most >= 0 && count > most)) {
    const std::string accepted = most < 0        ? fmt::format("at least {}", least)
                                 : least == most ? fmt::format("{}", least)
                                                 : fmt::format("{} to {}", least, most);
    fail("takes {} operands, found {}", accepted, count);
  }
  // Of any number of operands, each counts; those of bodies may be absent.
  const size_t required = most < 0 && op.bodies == 0 ? operands.size() : static_cast<size_t>(least);
  for (size_t i = 0; i < required; ++i)
    if (!operands[i]) fail("operand {} ({}) is required but absent", i, op.operands.of(i).name);
}

const AttributeSpec* find_spec(const OpDef& op, const std::string& name) {
  for (const AttributeSpec& spec : op.attributes)
    if (name == spec.name) return &spec;
  return nullptr;
}

constexpr const char* kKindNames[] = {"integer",         "number",          "string",    "list of integers",
                                      "list of numbers", "list of strings", "dimension", "shape",
                                      "element type",    "format",          "tensor"};

void check_containers(const OpDef& op, std::span<const TensorType* const> operands) {
  for (size_t i = 0; i < operands.size() && !op.containers; ++i)
    if (operands[i] && operands[i]->container != Container::none)
      fail("operand {} is {}; expected a tensor", i, to_string(*operands[i]));
}

bool has_unknown_rank(std::span<const TensorType* const> operands) {
  return std::any_of(operands.begin(), operands.end(), [](const TensorType* t) { return t && !t->ranked; });
}

std::vector<TensorType> apply_rule(const OpDef& op, const InferArgs& args) {
  CHECK(op.infer || op.pointwise, "{} has no shape rule", op.name);
  return op.infer ? op.infer(args) : infer_pointwise(op, args);
}

// A rule needs ranks: it is asked with one rank after another for the operands that have none. What fits tells how many
// results there are and their element types; their ranks stay unknown.
std::vector<TensorType> infer_unranked(const OpDef& op, const InferArgs& args) {
  constexpr size_t kRanks[] = {2, 3, 4, 1, 0, 5, 6};
  for (size_t rank : kRanks) {
    std::vector<TensorType> guesses(args.operands.size());
    std::vector<const TensorType*> types(args.operands.begin(), args.operands.end());
    for (size_t i = 0; i < types.size(); ++i) {
      if (!types[i] || types[i]->ranked) continue;
      guesses[i] = {.dtype = types[i]->dtype, .shape = Shape(rank, Dim::unknown())};
      types[i] = &guesses[i];
    }
    try {
      std::vector<TensorType> results = apply_rule(op, {types, args.constants, args.attributes, args.subgraphs});
      for (TensorType& result : results) result = TensorType::unranked(result.dtype);
      return results;
    } catch (const Error&) {
      if (rank == kRanks[std::size(kRanks) - 1]) throw;
    }
  }
  return {};
}

}  // namespace

int OperandSpecs::least() const {
  return static_cast<int>(std::ranges::count_if(*this, [](const OperandSpec& spec) {
    return spec.count == OperandSpec::Count::one || spec.count == OperandSpec::Count::several;
  }));
}

int OperandSpecs::factors() const { return static_cast<int>(std::ranges::count_if(*this, &OperandSpec::factor)); }

int OperandSpecs::most() const { return size_ > 0 && specs_[size_ - 1].repeats() ? -1 : static_cast<int>(size_); }

void expect_addressable(const TensorType& type) {
  if (type.rank() > kMostDimensions)
    fail("a tensor of {} dimensions; accepted: up to {}", type.rank(), kMostDimensions);
  int64_t elements = 1;
  for (const Dim& dim : type.shape) {
    if (!dim.is_constant()) continue;
    const int64_t size = dim.constant();
    if (size < 0) fail("{} has a negative dimension", to_string(type));
    if (size > 0 && elements > kMostElements / size)
      fail("{} has more than 2^56 elements, more than any memory holds", to_string(type));
    elements *= std::max<int64_t>(size, 1);
  }
}

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
                                      std::span<const Tensor* const> constants, const Attributes& attributes,
                                      const std::vector<Graph>& subgraphs) {
  CHECK(operands.size() == constants.size());
  check_stop();
  std::vector<TensorType> types;
  try {
    check_operands(op, operands);
    for (const TensorType* operand : operands)
      if (operand) expect_addressable(*operand);
    check_attributes(op, attributes);
    if (static_cast<int>(subgraphs.size()) != op.bodies) fail("has {} bodies, found {}", op.bodies, subgraphs.size());
    check_containers(op, operands);
    const InferArgs args{operands, constants, attributes, &subgraphs};
    types =
        has_unknown_rank(operands) && !op.any_rank && !op.containers ? infer_unranked(op, args) : apply_rule(op, args);
    for (const TensorType& type : types) expect_addressable(type);
  } catch (const std::out_of_range&) {
    fail("{}({}): an operand has fewer dimensions than the op needs", op.name, operand_list(operands));
  } catch (const Error& error) {
    fail("{}({}): {}", op.name, operand_list(operands), error.what());
  }
  CHECK(op.results < 0 || types.size() == static_cast<size_t>(op.results), "{} gave {} results", op.name, types.size());
  return types;
}

}  // namespace hone
