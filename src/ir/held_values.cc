#include "ir/held_values.h"

#include <algorithm>

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

Graph with_state_as_arguments(Graph graph) {
  std::vector<Output> outputs(graph.outputs().begin(), graph.outputs().end());
  for (Output& output : outputs) {
    if (output.updates == kNone || graph.value(output.updates).role != InputRole::state) continue;
    output.label = graph.value(output.updates).label + ".next";
    output.updates = kNone;
  }
  std::ranges::stable_partition(outputs, [](const Output& output) { return output.updates == kNone; });
  graph.set_outputs(std::move(outputs));
  const std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  for (ValueId id : inputs) {
    const Value input = graph.value(id);
    if (input.role != InputRole::state) continue;
    graph.set_label(id, "");
    const ValueId argument = graph.add_input(input.label, input.type);
    graph.replace_all_uses(id, argument);
    graph.erase_input(id);
    graph.rename(argument, input.name);
  }
  return graph;
}

}  // namespace hone
