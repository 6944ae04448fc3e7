#include "report/graph_dot.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/printable.h"
#include "base/text.h"
#include "ir/bodies.h"
#include "ops/calls/attention.h"
#include "ops/calls/fake_quant.h"
#include "ops/calls/gather.h"
#include "ops/calls/pool.h"
#include "report/graph_layers.h"

namespace hone {
namespace {

struct Colours {
  const char *fill, *border;
};

// By how an op computes: products are blue, rows green, look-ups violet, movement grey, elementwise sand.
Colours colours_of(const OpDef& op) {
  if (&op == &attention_def) return {"#cfe3e8", "#1f7a8c"};
  if (op.row || &op == &fake_quant_def) return {"#d9f0e1", "#2a8a57"};
  if (op.flops || &op == &max_pool_def || &op == &avg_pool_def) return {"#d6e6fb", "#2f6fc0"};
  if (&op == &gather_def) return {"#eadcf5", "#8648b0"};
  if (op.moves || op.view) return {"#eceff2", "#7b8794"};
  if (op.pointwise) return {"#faf0d8", "#b08a2c"};
  return {"#f4f4f4", "#5f6b78"};
}

// A DOT string: quoted, with quotes and backslashes escaped and line ends as the two characters \n.
// Names are cut: a drawing shows them, nobody reads them off it.
std::string quoted(const std::string& text) {
  constexpr size_t kLongest = 300;
  std::string out = "\"";
  for (char c : printable(shortened(text, kLongest))) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') out += "\\n";
    else if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

// The attributes that say what a node does, as "axis=-1"; tensors and long lists are left to `hone print`.
std::string attribute_text(const Attributes& attributes) {
  std::string out;
  for (const auto& [name, value] : attributes.items()) {
    std::string text;
    if (const int64_t* i = std::get_if<int64_t>(&value)) text = fmt::format("{}", *i);
    else if (const double* d = std::get_if<double>(&value)) text = fmt::format("{:g}", *d);
    else if (const std::string* s = std::get_if<std::string>(&value)) text = *s;
    else if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
      text = fmt::format("[{}]", fmt::join(*list, ","));
    if (!text.empty() && text.size() <= 24) out += fmt::format("{}{}={}", out.empty() ? "\n" : " ", name, text);
  }
  return out;
}

class DotWriter {
 public:
  DotWriter(const Graph& graph, const DotOptions& options) : graph_(graph), layers_(find_layers(graph)) {
    if (!options.fold_repeats)
      for (size_t i = 0; i < layers_.same_as.size(); ++i) layers_.same_as[i] = static_cast<int>(i);
    nodes_of_.resize(layers_.names.size());
    for (NodeId n : graph.nodes())
      if (layer_of(n) >= 0) nodes_of_[size_t(layer_of(n))].push_back(n);
  }

  std::string write() {
    out_ = fmt::format(
        "digraph {} {{\n  graph [rankdir=TB, nodesep=0.25, ranksep=0.35, fontname=\"Helvetica\", "
        "bgcolor=\"transparent\"];\n"
        "  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=11, margin=\"0.12,0.06\", "
        "height=0.3];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#7b8794\", fontcolor=\"#5b6675\", arrowsize=0.6];\n",
        quoted(graph_.name));
    for (ValueId v : graph_.inputs()) input(v);
    for (NodeId n : graph_.nodes())
      if (layer_of(n) < 0) node(n);
    for (size_t layer = 0; layer < layers_.names.size(); ++layer) write_layer(static_cast<int>(layer));
    for (NodeId n : graph_.nodes()) edges(n);
    outputs();
    return std::move(out_) + "}\n";
  }

 private:
  int layer_of(NodeId n) const { return layers_.of_node[size_t(n)]; }
  bool folded(int layer) const { return layer >= 0 && layers_.same_as[size_t(layer)] != layer; }
  bool in_folded(NodeId n) const { return folded(layer_of(n)); }

  // A run of equal layers shares one box, named after the first of them.
  int box_of(int layer) const { return layers_.same_as[size_t(layer)] + 1; }
  std::string id_of(NodeId n) const {
    return in_folded(n) ? fmt::format("l{}", box_of(layer_of(n))) : fmt::format("n{}", n);
  }
  std::string id_of_value(ValueId v) const {
    const NodeId producer = graph_.producer(v);
    return producer == kNone ? fmt::format("v{}", v) : id_of(producer);
  }

  void input(ValueId v) {
    out_ += fmt::format(
        "  v{} [label={}, shape=ellipse, style=filled, fillcolor=\"#ffffff\", color=\"#1d2430\", penwidth=1.4];\n", v,
        quoted("input " + graph_.value(v).label + "\n" + to_string(graph_.type(v))));
  }

  void node(NodeId n, const char* indent = "  ") {
    const Node& node = graph_.node(n);
    const Colours colours = colours_of(*node.op);
    const std::string result = node.results.empty() ? "" : graph_.value(node.results[0]).name;
    out_ += fmt::format("{}n{} [label={}, fillcolor=\"{}\", color=\"{}\", tooltip={}];\n", indent, n,
                        quoted(node.op->name + attribute_text(node.attributes)), colours.fill, colours.border,
                        quoted(fmt::format("%{}: {}", result, node.op->doc)));
    for (ValueId v : node.operands)
      if (graph_.constant(v) && constants_.insert(v).second) constant(v, layer_of(n), indent);
  }

  // Packed constants stand out, since they are what compression is about. Inside a layer its name need not be repeated.
  void constant(ValueId v, int layer, const char* indent) {
    const Value& value = graph_.value(v);
    std::string name = value.label.empty() ? "%" + value.name : value.label;
    if (layer >= 0 && name.starts_with(layers_.names[size_t(layer)] + "."))
      name = name.substr(layers_.names[size_t(layer)].size() + 1);
    const bool packed = value.type.is_packed();
    out_ += fmt::format("{}v{} [label={}, style=filled, fontsize=9, fillcolor=\"{}\", color=\"{}\", tooltip={}];\n",
                        indent, v, quoted(name + "\n" + to_string(value.type)), packed ? "#ffd9a8" : "#f6f6f6",
                        packed ? "#c4691a" : "#a9b3be",
                        quoted(value.label + ", " + human_bytes(double(value.constant->bytes()))));
  }

  void write_layer(int layer) {
    if (folded(layer)) {
      if (layer != box_of(layer)) return;
      int last = layer;
      while (last + 1 < int(layers_.names.size()) &&
             layers_.same_as[size_t(last) + 1] == layers_.same_as[size_t(layer)])
        ++last;
      const std::string& first = layers_.names[size_t(layers_.same_as[size_t(layer)])];
      const std::string names =
          layers_.names[size_t(layer)] + (last > layer ? " to " + layers_.names[size_t(last)] : "");
      out_ += fmt::format("  l{} [label={}, shape=box3d, style=filled, fillcolor=\"#eef3f9\", color=\"#5b6675\"];\n",
                          layer, quoted(fmt::format("{} x the same as {}\n{}", last - layer + 1, first, names)));
      return;
    }
    out_ += fmt::format(
        "  subgraph cluster_{} {{\n    label={}; labeljust=l; fontsize=12; color=\"#b8c2cd\"; style=\"rounded\";\n",
        layer, quoted(layers_.names[size_t(layer)]));
    for (NodeId n : nodes_of_[size_t(layer)]) node(n, "    ");
    out_ += "  }\n";
  }

  void edges(NodeId n) {
    for (ValueId v : graph_.node(n).operands) {
      if (v == kNone || (in_folded(n) && graph_.constant(v))) continue;
      const std::string from = id_of_value(v), to = id_of(n);
      if (from == to || (in_folded(n) && !folded_edges_.insert(from + to).second)) continue;
      const bool is_constant = graph_.constant(v) != nullptr;
      const std::string label = is_constant || graph_.producer(v) == kNone ? "" : to_string(graph_.type(v));
      out_ += fmt::format("  {} -> {}", from, to);
      if (is_constant) out_ += " [color=\"#b8c2cd\", arrowsize=0.4]";
      else if (!label.empty()) out_ += fmt::format(" [label={}]", quoted(label));
      out_ += ";\n";
    }
  }

  void outputs() {
    int index = 0;
    for (const Output& output : graph_.outputs()) {
      if (graph_.constant(output.value) && constants_.insert(output.value).second) constant(output.value, -1, "  ");
      out_ += fmt::format(
          "  o{} [label={}, shape=ellipse, style=filled, fillcolor=\"#1d2430\", fontcolor=\"#ffffff\", "
          "color=\"#1d2430\"];\n  {} -> o{};\n",
          index, quoted("output " + output.label + "\n" + to_string(graph_.type(output.value))),
          id_of_value(output.value), index);
      ++index;
    }
  }

  const Graph& graph_;
  GraphLayers layers_;
  std::vector<std::vector<NodeId>> nodes_of_;  // by layer
  std::set<ValueId> constants_;                // drawn already
  std::set<std::string> folded_edges_;         // drawn already, into folded layers
  std::string out_;
};

}  // namespace

std::string to_dot(const Graph& graph, const DotOptions& options) { return DotWriter(graph, options).write(); }

std::string describe(const Graph& graph) {
  std::map<std::string, int> packed;
  size_t constants = 0;
  for_each_graph(graph, [&](const Graph& each) {
    for (ValueId v : each.constants()) {
      ++constants;
      if (each.type(v).is_packed()) ++packed[to_string(*each.type(v).format)];
    }
  });
  std::string text = fmt::format("Graph {}: {} operations, {} inputs, {} outputs, {} constants", graph.name,
                                 graph.nodes().size(), graph.inputs().size(), graph.outputs().size(), constants);
  for (const auto& [format, count] : packed) text += fmt::format(", {} of them {}", count, format);
  return text;
}

}  // namespace hone
