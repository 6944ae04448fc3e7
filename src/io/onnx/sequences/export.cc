// Sequences and optionals.
#include "io/onnx/export_node.h"

namespace hone::onnx {
namespace {

Names empty(const ExportNode& n) { return {n.emit("SequenceEmpty", {}, {{"dtype", n.result_type().dtype}})}; }
Names construct(const ExportNode& n) { return {n.emit("SequenceConstruct", n.all_in())}; }
Names at(const ExportNode& n) { return {n.emit("SequenceAt", n.all_in())}; }
Names insert(const ExportNode& n) { return {n.emit("SequenceInsert", n.all_in())}; }
Names erase(const ExportNode& n) { return {n.emit("SequenceErase", n.all_in())}; }
Names length(const ExportNode& n) { return {n.emit("SequenceLength", n.all_in())}; }
Names split(const ExportNode& n) { return {n.emit("SplitToSequence", n.all_in(), n.take({"axis", "keepdims"}))}; }
Names concat(const ExportNode& n) { return {n.emit("ConcatFromSequence", n.all_in(), n.take({"axis", "new_axis"}))}; }

Names map(const ExportNode& n) {
  const auto inputs = static_cast<size_t>(n.integer("inputs", 1));
  Names names = n.all_in();
  names.resize(inputs);
  Bodies bodies;
  bodies.emplace_back("body", n.body(0, inputs, inputs));
  return n.emit_all("SequenceMap", names, {}, n.node().results.size(), std::move(bodies));
}

Names optional(const ExportNode& n) {
  if (n.has(0)) return {n.emit("Optional", {n.in(0)})};
  TensorType type = n.result_type();
  type.container = type.container == Container::optional ? Container::none : Container::sequence;
  type.ranked = type.container != Container::none;
  return {n.emit_of_type("Optional", type)};
}

bool is_optional(const ExportNode& n) {
  const Container container = n.type(0).container;
  return container == Container::optional || container == Container::optional_sequence;
}

Names get_element(const ExportNode& n) {
  if (!is_optional(n)) n.needs(18, "OptionalGetElement of what is no optional");
  return {n.emit("OptionalGetElement", {n.in(0)})};
}

Names has_element(const ExportNode& n) {
  if (!n.has(0)) return {n.constant(Tensor::scalar<bool>(false))};
  if (!is_optional(n)) n.needs(18, "OptionalHasElement of what is no optional");
  return {n.emit("OptionalHasElement", {n.in(0)})};
}

constexpr ExportRule kRules[] = {{"optional", optional},
                                 {"optional_get_element", get_element},
                                 {"optional_has_element", has_element},
                                 {"sequence_at", at},
                                 {"sequence_concat", concat},
                                 {"sequence_construct", construct},
                                 {"sequence_empty", empty},
                                 {"sequence_erase", erase},
                                 {"sequence_insert", insert},
                                 {"sequence_length", length},
                                 {"sequence_map", map},
                                 {"sequence_split", split}};

}  // namespace

std::span<const ExportRule> sequence_rules() { return kRules; }

}  // namespace hone::onnx
