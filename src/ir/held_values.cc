#include "ir/held_values.h"

#include "base/error.h"

namespace hone {

Graph with_constant_parameters(Graph graph) {
  graph.set_outputs({graph.outputs().begin(), graph.outputs().begin() + static_cast<ptrdiff_t>(graph.returned())});
  const std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  for (ValueId id : inputs) {
    const Value input = graph.value(id);
    if (input.role == InputRole::argument) continue;
    if (input.role == InputRole::state)
      fail("the graph keeps state (%{}), which belongs to the context of its runs", input.name);
    const ValueId constant = graph.add_constant(input.label, *input.initial);
    graph.replace_all_uses(id, constant);
    graph.erase_input(id);
    graph.rename(constant, input.name);
  }
  graph.reinfer();
  return graph;
}

}  // namespace hone
