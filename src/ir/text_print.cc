#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "ir/literal.h"
#include "ir/text.h"

namespace hone {
namespace {

std::string value_ref(const Graph& graph, ValueId id) { return id == kNone ? "_" : "%" + graph.value(id).name; }

std::string node_text(const Graph& graph, const Node& node) {
  std::string text = node.op->name;
  for (size_t i = 0; i < node.operands.size(); ++i) text += (i > 0 ? ", " : " ") + value_ref(graph, node.operands[i]);
  std::string attributes;
  for (const auto& [name, value] : node.attributes.items())
    attributes += (attributes.empty() ? "" : ", ") + name + "=" + attribute_text(value);
  return attributes.empty() ? text : text + " {" + attributes + "}";
}

// " do graph a {…} graph b {…}", each line indented below the node.
std::string bodies_text(const Node& node, const PrintOptions& options) {
  std::string text;
  for (const Graph& body : node.subgraphs)
    for (const std::string& line : split(print(body, options), '\n'))
      if (!line.empty())
        text += (line.starts_with("graph ") ? (text.empty() ? " do\n    " : "\n    ") : "\n    ") + line;
  return text;
}

std::string constant_text(const Value& value, const PrintOptions& options) {
  std::string text = "const";
  if (!value.label.empty()) text += " " + quote(value.label);
  if (value.label.empty() || value.constant->elements() <= options.max_inline_elements)
    text += " " + literal_text(*value.constant);
  return text;
}

// Left and right side of each statement; `=` is aligned where the left side is of ordinary length.
struct Line {
  std::string name, type, right;
};

std::string aligned(const std::vector<Line>& lines) {
  constexpr size_t kMaxName = 24, kMaxType = 24;
  size_t name_width = 0, type_width = 0;
  for (const Line& line : lines) {
    if (line.name.size() <= kMaxName) name_width = std::max(name_width, line.name.size());
    if (line.type.size() <= kMaxType) type_width = std::max(type_width, line.type.size());
  }
  std::string text;
  for (const Line& line : lines)
    text += fmt::format("  {:<{}} : {:<{}} = {}\n", line.name, name_width, line.type, type_width, line.right);
  return text;
}

// Constants stand before their first user, as a person would write them.
class Printer {
 public:
  Printer(const Graph& graph, const PrintOptions& options)
      : graph_(graph), options_(options), printed_(graph.value_capacity(), false) {}

  std::string run() {
    for (ValueId id : graph_.inputs())
      add("%" + graph_.value(id).name, to_string(graph_.type(id)), input_text(graph_.value(id)));
    for (NodeId id : graph_.nodes()) add_node(graph_.node(id));
    for (const Output& output : graph_.outputs()) add_constant(output.value);
    for (ValueId id : graph_.constants()) add_constant(id);
    std::string text = "graph " + graph_.name + " {\n";
    for (const auto& [key, value] : graph_.metadata) text += "  meta " + quote(key) + " = " + quote(value) + "\n";
    text += aligned(lines_);
    for (const Output& output : graph_.outputs())
      if (output.updates != kNone)
        text += fmt::format("  update {} = {}\n", value_ref(graph_, output.updates), value_ref(graph_, output.value));
    text += "  return";
    for (size_t i = 0; i < graph_.returned(); ++i) {
      const Output& output = graph_.outputs()[i];
      text += fmt::format("{} {} as {}", i > 0 ? "," : "", value_ref(graph_, output.value), quote(output.label));
    }
    return text + "\n}\n";
  }

 private:
  std::string input_text(const Value& value) const {
    constexpr const char* kWords[] = {"input", "param", "state"};
    std::string text = fmt::format("{} {}", kWords[static_cast<size_t>(value.role)], quote(value.label));
    if (!value.initial) return text;
    if (value.initial->elements() <= options_.max_inline_elements) return text + " " + literal_text(*value.initial);
    return text + (value.role == InputRole::state ? " stored" : "");
  }

  void add(std::string name, std::string type, std::string right) {
    lines_.push_back({std::move(name), std::move(type), std::move(right)});
  }

  void add_constant(ValueId id) {
    if (!graph_.constant(id) || printed_[static_cast<size_t>(id)]) return;
    printed_[static_cast<size_t>(id)] = true;
    const Value& value = graph_.value(id);
    add("%" + value.name, to_string(value.type), constant_text(value, options_));
  }

  void add_node(const Node& node) {
    for (ValueId operand : node.operands)
      if (operand != kNone) add_constant(operand);
    std::string left;  // all results but the last, each with its type
    for (size_t i = 0; i + 1 < node.results.size(); ++i)
      left += value_ref(graph_, node.results[i]) + " : " + to_string(graph_.type(node.results[i])) + ", ";
    const ValueId last = node.results.back();
    add(left + value_ref(graph_, last), to_string(graph_.type(last)),
        node_text(graph_, node) + bodies_text(node, options_));
  }

  const Graph& graph_;
  const PrintOptions& options_;
  std::vector<Line> lines_;
  std::vector<bool> printed_;
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) { return Printer(graph, options).run(); }

std::string print_node(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string left;
  for (ValueId result : node.results)
    left += (left.empty() ? "" : ", ") + value_ref(graph, result) + " : " + to_string(graph.type(result));
  std::string operands;
  for (ValueId operand : node.operands)
    if (operand != kNone) operands += (operands.empty() ? "" : ", ") + to_string(graph.type(operand));
  return fmt::format("{} = {}   ({})", left, node_text(graph, node), operands);
}

}  // namespace hone
