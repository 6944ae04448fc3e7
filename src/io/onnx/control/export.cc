// Control flow: if, loop, scan. What a body captures it reads by its name around it.
#include "io/onnx/export_node.h"

namespace hone::onnx {
namespace {

size_t count(const ExportNode& n, const char* attribute) {
  return static_cast<size_t>(n.attributes().get<int64_t>(attribute));
}

Names emit_with_bodies(const ExportNode& n, const char* op_type, const Names& inputs, const Attributes& attributes,
                       Bodies bodies) {
  return n.emit_all(op_type, inputs, attributes, n.node().results.size(), std::move(bodies));
}

Names write_if(const ExportNode& n) {
  Bodies bodies;
  bodies.emplace_back("then_branch", n.body(0, 0, 1));
  bodies.emplace_back("else_branch", n.body(1, 0, 1 + count(n, "then_captures")));
  return emit_with_bodies(n, "If", {n.in(0)}, {}, std::move(bodies));
}

Names write_loop(const ExportNode& n) {
  const size_t operands = 2 + count(n, "carried");  // trip count, condition, carried values
  Names inputs = n.all_in();
  inputs.resize(operands);
  Bodies bodies;
  bodies.emplace_back("body", n.body(0, operands, operands));
  return emit_with_bodies(n, "Loop", inputs, {}, std::move(bodies));
}

Names write_scan(const ExportNode& n) {
  const size_t operands = count(n, "states") + count(n, "scans");
  Names inputs = n.all_in();
  inputs.resize(operands);
  Attributes attributes{{"num_scan_inputs", n.attributes().get<int64_t>("scans")}};
  constexpr std::pair<const char*, const char*> kLists[] = {{"scan_axes", "scan_input_axes"},
                                                            {"scan_directions", "scan_input_directions"},
                                                            {"result_axes", "scan_output_axes"},
                                                            {"result_directions", "scan_output_directions"}};
  for (const auto& [ours, theirs] : kLists)
    if (n.attributes().has(ours)) attributes.set(theirs, n.attributes().get<std::vector<int64_t>>(ours));
  Bodies bodies;
  bodies.emplace_back("body", n.body(0, operands, operands));
  return emit_with_bodies(n, "Scan", inputs, attributes, std::move(bodies));
}

constexpr ExportRule kRules[] = {{"if", write_if}, {"loop", write_loop}, {"scan", write_scan}};

}  // namespace

std::span<const ExportRule> control_rules() { return kRules; }

}  // namespace hone::onnx
