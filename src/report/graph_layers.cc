#include "report/graph_layers.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace hone {
namespace {

bool is_number(const std::string& part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class LayerFinder {
 public:
  explicit LayerFinder(const Graph& graph) : graph_(graph) { layers_.of_node.assign(graph.node_capacity(), -1); }

  GraphLayers run() {
    for (NodeId n : graph_.nodes()) layers_.of_node[size_t(n)] = named_layer(n);
    fill_between();
    find_equals();
    return std::move(layers_);
  }

 private:
  int named_layer(NodeId n) {
    for (ValueId v : graph_.node(n).operands) {
      if (!graph_.constant(v)) continue;
      const std::string name = layer_of_label(graph_.value(v).label);
      if (!name.empty()) return index_of(name);
    }
    return -1;
  }

  int index_of(const std::string& name) {
    auto& names = layers_.names;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<int>(found - names.begin());
    names.push_back(name);
    return static_cast<int>(names.size()) - 1;
  }

  // Layers that some user of the node's results belongs to or leads to.
  std::vector<std::set<int>> layers_below() const {
    std::vector<std::set<int>> below(graph_.node_capacity());
    const std::vector<NodeId> order(graph_.nodes().begin(), graph_.nodes().end());
    for (auto n = order.rbegin(); n != order.rend(); ++n)
      for (ValueId v : graph_.node(*n).operands) {
        const NodeId producer = v == kNone ? kNone : graph_.producer(v);
        if (producer == kNone) continue;
        std::set<int>& set = below[size_t(producer)];
        set.insert(below[size_t(*n)].begin(), below[size_t(*n)].end());
        if (layers_.of_node[size_t(*n)] >= 0) set.insert(layers_.of_node[size_t(*n)]);
      }
    return below;
  }

  void fill_between() {
    const std::vector<std::set<int>> below = layers_below();
    for (NodeId n : graph_.nodes()) {
      int& layer = layers_.of_node[size_t(n)];
      if (layer >= 0) continue;
      for (ValueId v : graph_.node(n).operands) {
        const NodeId producer = v == kNone ? kNone : graph_.producer(v);
        const int above = producer == kNone ? -1 : layers_.of_node[size_t(producer)];
        if (above > layer && below[size_t(n)].contains(above)) layer = above;
      }
    }
  }

  // Ops, attributes that are plain numbers, and types, in order: equal texts mean equal pictures.
  std::vector<std::string> signatures() const {
    std::vector<std::string> texts(layers_.names.size());
    for (NodeId n : graph_.nodes()) {
      const int layer = layers_.of_node[size_t(n)];
      if (layer < 0) continue;
      const Node& node = graph_.node(n);
      std::string& text = texts[size_t(layer)];
      text += node.op->name;
      for (ValueId v : node.operands) text += v == kNone ? " _" : " " + to_string(graph_.type(v));
      text += " ->";
      for (ValueId v : node.results) text += " " + to_string(graph_.type(v));
      text += "\n";
    }
    return texts;
  }

  void find_equals() {
    const std::vector<std::string> texts = signatures();
    for (size_t i = 0; i < texts.size(); ++i) {
      const bool repeats = i > 0 && texts[i] == texts[i - 1];
      layers_.same_as.push_back(repeats ? layers_.same_as.back() : static_cast<int>(i));
    }
  }

  const Graph& graph_;
  GraphLayers layers_;
};

}  // namespace

std::string layer_of_label(const std::string& label) {
  const std::vector<std::string> parts = split(label, '.');
  size_t last = parts.size();
  for (size_t i = 0; i < parts.size(); ++i)
    if (is_number(parts[i])) last = i;
  std::string name;
  for (size_t i = 0; last < parts.size() && i <= last; ++i) name += (i > 0 ? "." : "") + parts[i];
  return name;
}

GraphLayers find_layers(const Graph& graph) { return LayerFinder(graph).run(); }

}  // namespace hone
