#include "train/merged_weights.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "passes/match.h"
#include "train/parameters.h"

namespace hone {
namespace {

bool is_of_a_layer(ParameterRole role) {
  return role == ParameterRole::norm || role == ParameterRole::bias || role == ParameterRole::slope;
}

// Several layers multiply by one matrix or kernel that is no fresh one.
bool shares_layers(const Graph& graph, const std::vector<StoredTensor>& stored) {
  return std::ranges::any_of(stored, [&](const StoredTensor& tensor) {
    if (tensor.role != ParameterRole::weight || uniform_value(graph, tensor.id)) return false;
    return std::ranges::count(graph.uses(tensor.id), ParameterRole::weight,
                              [&](const Graph::Use& use) { return role_of_use(graph, use); }) > 1;
  });
}

std::string free_name(const Graph& graph, const std::string& name) {
  for (int i = 2;; ++i)
    if (std::string found = fmt::format("{}.{}", name, i); graph.find_constant(found) == kNone) return found;
}

void separate(Graph& graph, const StoredTensor& tensor) {
  const std::vector<Graph::Use> uses = graph.uses(tensor.id);
  const bool is_merged =
      uses.size() > 1 && uniform_value(graph, tensor.id) &&
      std::ranges::all_of(uses, [&](const Graph::Use& use) { return is_of_a_layer(role_of_use(graph, use)); });
  if (!is_merged) return;
  for (size_t i = 1; i < uses.size(); ++i)
    graph.set_operand(uses[i].node, uses[i].operand,
                      graph.add_constant(free_name(graph, tensor.name), *graph.constant(tensor.id)));
}

}  // namespace

Graph with_merged_weights_apart(Graph graph) {
  const std::vector<StoredTensor> stored = stored_tensors(graph);
  if (shares_layers(graph, stored)) return graph;
  for (const StoredTensor& tensor : stored) separate(graph, tensor);
  return graph;
}

}  // namespace hone
