#include "gradients/grid_sample_nodes.h"
#include "ops/calls/grid_sample.h"
#include "passes/pass.h"

namespace hone {
namespace {

// Cubic ones read 16 elements a place, or 64, and would be as many nodes.
bool is_expandable(const Graph& graph, const Node& node) {
  return grid_sample_in_nodes(graph, node).supported() && graph.type(node.operands[0]).dtype == DType::f32 &&
         node.attributes.get_or<std::string>("mode", "linear") != "cubic";
}

Graph expand_grid_sample(Graph graph, const PassContext&) {
  for (NodeId id : graph.nodes(grid_sample_def)) {
    const Node node = graph.node(id);
    if (!is_expandable(graph, node)) continue;
    graph.set_insertion_point(id);
    const ValueId result = grid_sample_nodes(graph, node);
    graph.set_insertion_point(kNone);
    graph.refine_type(result, graph.type(node.results[0]));
    graph.replace_all_uses(node.results[0], result);
    graph.erase(id);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef expand_grid_sample_def{
    .name = "expand_grid_sample",
    .doc = "grid_sample, linear or nearest, of planes of a known size → gathers of rows of channels, weighted.",
    .run = expand_grid_sample};

}  // namespace hone
