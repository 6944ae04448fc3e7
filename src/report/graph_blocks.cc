#include "report/graph_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace hone {
namespace {

// Names of ops and of the graph may hold anything.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') out += "\\n";
    else if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

class BlockWriter {
 public:
  explicit BlockWriter(const Graph& graph) : graph_(graph), block_of_(graph.node_capacity(), 0) {
    const size_t count = graph.nodes().size(), blocks = std::min<size_t>(count, kMostBlocks);
    for (size_t b = 0; b < blocks; ++b) firsts_.push_back(b * count / blocks);
    firsts_.push_back(count);
    for (size_t b = 0; b < blocks; ++b)
      for (size_t i = firsts_[b]; i < firsts_[b + 1]; ++i)
        block_of_[static_cast<size_t>(graph.nodes()[i])] = static_cast<int>(b);
  }

  std::string write() {
    std::string out = fmt::format(
        "digraph {} {{\n  graph [rankdir=TB, nodesep=0.25, ranksep=0.35, fontname=\"Helvetica\", "
        "bgcolor=\"transparent\"];\n"
        "  node [shape=box3d, style=filled, fontname=\"Helvetica\", fontsize=11, fillcolor=\"#eef3f9\", "
        "color=\"#5b6675\"];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#7b8794\", fontcolor=\"#5b6675\", arrowsize=0.6];\n",
        quoted(graph_.name));
    out += fmt::format("  i [label={}, shape=ellipse, fillcolor=\"#ffffff\"];\n",
                       quoted(fmt::format("{} inputs", graph_.inputs().size())));
    for (size_t b = 0; b + 1 < firsts_.size(); ++b)
      out += fmt::format("  b{} [label={}];\n", b, quoted(label_of(firsts_[b], firsts_[b + 1])));
    out += fmt::format("  o [label={}, shape=ellipse, fillcolor=\"#1d2430\", fontcolor=\"#ffffff\"];\n",
                       quoted(fmt::format("{} outputs", graph_.outputs().size())));
    for (const auto& [ends, values] : edges())
      out += fmt::format("  {} -> {} [label=\"{}\"];\n", ends.first, ends.second, values);
    return out + "}\n";
  }

 private:
  // "nodes 1 to 250\n120 linear\n80 add\n..."
  std::string label_of(size_t first, size_t end) const {
    constexpr size_t kOps = 4;
    std::map<std::string, int> counts;
    for (size_t i = first; i < end; ++i) ++counts[graph_.node(graph_.nodes()[i]).op->name];
    std::vector<std::pair<int, std::string>> ops;
    for (const auto& [op, count] : counts) ops.emplace_back(count, op);
    std::ranges::stable_sort(ops, std::ranges::greater(), &std::pair<int, std::string>::first);
    std::string text = fmt::format("nodes {} to {} of {}", first + 1, end, graph_.nodes().size());
    for (size_t i = 0; i < std::min(kOps, ops.size()); ++i) text += fmt::format("\n{} {}", ops[i].first, ops[i].second);
    if (ops.size() > kOps) text += fmt::format("\nand {} other ops", ops.size() - kOps);
    return text;
  }

  std::string source_of(ValueId v) const {
    const NodeId producer = graph_.producer(v);
    return producer == kNone ? "i" : fmt::format("b{}", block_of_[static_cast<size_t>(producer)]);
  }

  // How many values go from one box to another.
  std::map<std::pair<std::string, std::string>, int> edges() const {
    std::map<std::pair<std::string, std::string>, int> found;
    for (NodeId n : graph_.nodes()) {
      const std::string to = fmt::format("b{}", block_of_[static_cast<size_t>(n)]);
      for (ValueId v : graph_.node(n).operands) {
        if (v == kNone || graph_.constant(v)) continue;
        if (const std::string from = source_of(v); from != to) ++found[{from, to}];
      }
    }
    for (const Output& output : graph_.outputs())
      if (!graph_.constant(output.value)) ++found[{source_of(output.value), "o"}];
    return found;
  }

  const Graph& graph_;
  std::vector<int> block_of_;   // by NodeId
  std::vector<size_t> firsts_;  // place in the order of the first node of each block; then the end
};

}  // namespace

std::string blocks_dot(const Graph& graph) { return BlockWriter(graph).write(); }

}  // namespace hone
