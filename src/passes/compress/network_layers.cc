#include "passes/compress/network_layers.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/stop.h"
#include "passes/pipelines.h"

namespace hone {
namespace {

// "encoder.layer.3" of encoder.layer.3.output.dense.weight; "" where no part of the name is a number.
std::string numbered_part(const std::string& label) {
  size_t begin = 0;
  while (begin < label.size()) {
    const size_t end = std::min(label.find('.', begin), label.size());
    const std::string part = label.substr(begin, end - begin);
    if (begin > 0 && !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; }))
      return label.substr(0, end);
    begin = end + 1;
  }
  return "";
}

}  // namespace

std::vector<NetworkLayer> network_layers(const Graph& graph) {
  std::vector<NetworkLayer> layers;
  std::map<std::string, size_t> by_name;
  std::map<size_t, std::pair<size_t, size_t>> span;  // of places in the order of nodes
  std::map<NodeId, size_t> place;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const NodeId id = graph.nodes()[n];
    place[id] = n;
    for (ValueId operand : graph.node(id).operands) {
      if (operand == kNone || !graph.constant(operand)) continue;
      const std::string name = numbered_part(graph.value(operand).label);
      if (name.empty()) continue;
      const auto [found, is_new] = by_name.emplace(name, layers.size());
      if (is_new) layers.push_back({.name = name}), span[found->second] = {n, n};
      span[found->second].second = n;
      layers[found->second].weights.push_back(operand);
    }
  }
  // A layer reaches from the value that it reads to the first later one of that type through which all goes on.
  for (size_t l = 0; l < layers.size(); ++l) {
    check_stop();
    NetworkLayer& layer = layers[l];
    const auto [first, last] = span[l];
    const size_t end = [&, last = last] {  // where the next one begins
      size_t next = graph.nodes().size();
      for (const auto& [other, places] : span)
        if (places.first > last) next = std::min(next, places.first);
      return next;
    }();
    const NodeId begin = graph.nodes()[first];
    const ValueId before = graph.operand(begin, 0);
    layer.kept_because = "no single value of one type goes in and comes out";
    for (size_t cut = end; cut-- > last;) {
      const ValueId after = graph.result(graph.nodes()[cut]);
      if (graph.type(after) != graph.type(before)) continue;
      const auto crosses = [&](ValueId id) {  // is read behind the cut
        const auto uses = graph.uses(id);
        const bool is_output = std::ranges::any_of(graph.outputs(), [&](const Output& o) { return o.value == id; });
        return is_output || std::ranges::any_of(uses, [&](const Graph::Use& use) { return place[use.node] > cut; });
      };
      bool single = true;
      for (size_t n = first; n <= cut; ++n)
        for (ValueId result : graph.node(graph.nodes()[n]).results)
          single = single && (result == after || !crosses(result));
      if (!single) continue;
      layer.before = before, layer.after = after;
      layer.kept_because.clear();
      break;
    }
  }
  return layers;
}

Graph remove_layer(Graph graph, const NetworkLayer& layer) {
  CHECK(layer.kept_because.empty());
  graph.replace_all_uses(layer.after, layer.before);
  graph = run_pass(std::move(graph), "remove_dead");
  graph.erase_unused_constants();
  return graph;
}

}  // namespace hone
