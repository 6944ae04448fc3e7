#include "report/graph_layers.h"

#include <algorithm>
#include <unordered_map>

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
    const auto [found, is_new] = indices_.try_emplace(name, static_cast<int>(layers_.names.size()));
    if (is_new) layers_.names.push_back(name);
    return found->second;
  }

  // Which layers some user of a node's results belongs to or leads to: a bit for each.
  class LayersBelow {
   public:
    LayersBelow(const Graph& graph, const GraphLayers& layers)
        : words_((layers.names.size() + 63) / 64), bits_(graph.node_capacity() * words_) {
      const std::vector<NodeId> order(graph.nodes().begin(), graph.nodes().end());
      for (auto n = order.rbegin(); n != order.rend(); ++n)
        for (ValueId v : graph.node(*n).operands) {
          const NodeId producer = v == kNone ? kNone : graph.producer(v);
          if (producer == kNone) continue;
          for (size_t w = 0; w < words_; ++w) word(producer, w) |= word(*n, w);
          const int own = layers.of_node[size_t(*n)];
          if (own >= 0) word(producer, size_t(own) / 64) |= uint64_t{1} << (own % 64);
        }
    }
    bool contains(NodeId n, int layer) { return word(n, size_t(layer) / 64) >> (layer % 64) & 1; }

   private:
    uint64_t& word(NodeId n, size_t w) { return bits_[size_t(n) * words_ + w]; }
    size_t words_;
    std::vector<uint64_t> bits_;
  };

  void fill_between() {
    constexpr size_t kMostBits = size_t{1} << 28;  // what is between layers of larger graphs stays outside of them
    if (layers_.names.empty() || graph_.node_capacity() > kMostBits / (layers_.names.size() + 63)) return;
    LayersBelow below(graph_, layers_);
    for (NodeId n : graph_.nodes()) {
      int& layer = layers_.of_node[size_t(n)];
      if (layer >= 0) continue;
      for (ValueId v : graph_.node(n).operands) {
        const NodeId producer = v == kNone ? kNone : graph_.producer(v);
        const int above = producer == kNone ? -1 : layers_.of_node[size_t(producer)];
        if (above > layer && below.contains(n, above)) layer = above;
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
  std::unordered_map<std::string, int> indices_;  // of names
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
