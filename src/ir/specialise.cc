// specialise() and sizes() of graph.h.
#include <algorithm>

#include "ir/decided_sizes.h"
#include "ir/graph.h"

namespace hone {
namespace {

Shape substituted(const Shape& shape, const Bindings& bindings) {
  Shape result;
  for (const Dim& dim : shape) result.push_back(dim.substitute(bindings));
  return result;
}

// Sizes that depended on data when the graph was made, where the sizes of a run decide them: what has their names gets
// them too.
void note_decided(const Shape& before, const Shape& after, Bindings& sizes) {
  for (size_t i = 0; i < before.size() && before.size() == after.size(); ++i)
    if (before[i].is_symbol() && before[i].to_string().front() == '_' && after[i].is_constant())
      sizes[before[i].to_string()] = after[i].constant();
}

}  // namespace

Attributes substituted(const Attributes& attributes, const Bindings& bindings) {
  Attributes result = attributes;
  for (const auto& [name, value] : attributes.items()) {
    if (const auto* dim = std::get_if<Dim>(&value)) result.set(name, dim->substitute(bindings));
    if (const auto* shape = std::get_if<Shape>(&value)) result.set(name, substituted(*shape, bindings));
  }
  return result;
}

bool is_symbolic(const Attributes& attributes) {
  const auto open = [](const auto& item) {
    const auto* dim = std::get_if<Dim>(&item.second);
    const auto* shape = std::get_if<Shape>(&item.second);
    return (dim && !dim->is_constant()) || (shape && !is_constant(*shape));
  };
  return std::any_of(attributes.items().begin(), attributes.items().end(), open);
}

Graph specialise(const Graph& graph, const Bindings& bindings) {
  Graph result = graph;
  for (ValueId id : graph.inputs()) {
    TensorType type = graph.type(id);
    type.shape = substituted(type.shape, bindings);
    result.set_input_type(id, std::move(type));
  }
  Bindings sizes = bindings;
  DecidedSizes decided;
  for (NodeId id : graph.nodes()) {
    const Attributes attributes = substituted(decided.substituted(graph.node(id).attributes), sizes);
    for (const auto& [name, value] : attributes.items())
      if (std::holds_alternative<Dim>(value) || std::holds_alternative<Shape>(value))
        result.set_attribute(id, name, value);
    std::vector<Graph> bodies;
    for (const Graph& body : graph.node(id).subgraphs) bodies.push_back(specialise(body, sizes));
    if (!bodies.empty()) result.set_subgraphs(id, std::move(bodies));
    result.reinfer(id);
    for (ValueId v : graph.node(id).results) {
      note_decided(graph.type(v).shape, result.type(v).shape, sizes);
      decided.note(graph.type(v).shape, result.type(v).shape);
    }
  }
  return result;
}

Sizes sizes(const Graph& graph) {
  Sizes total;
  for (NodeId node : graph.nodes())
    for (const Graph& body : graph.node(node).subgraphs) {
      const Sizes inside = sizes(body);
      total.parameters += inside.parameters, total.weight_bytes += inside.weight_bytes;
    }
  for (ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    if (input.role != InputRole::parameter) continue;
    total.parameters += input.initial->elements();
    total.weight_bytes += input.initial->bytes();
  }
  for (ValueId id : graph.constants()) {
    const Tensor& tensor = *graph.constant(id);
    if (graph.value(id).label.empty() && tensor.shape().empty()) continue;
    if (tensor.is_packed() || is_float(tensor.dtype())) total.parameters += tensor.elements();
    total.weight_bytes += tensor.bytes();
  }
  return total;
}

}  // namespace hone
