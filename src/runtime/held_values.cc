#include "runtime/held_values.h"

namespace hone {

HeldValues::HeldValues(const Graph& graph) {
  for (ValueId id : graph.inputs())
    if (const Value& input = graph.value(id); input.role == InputRole::state) states[input.label] = input.initial;
  for (const Output& output : graph.outputs()) {
    if (output.updates == kNone) continue;
    const Value& held = graph.value(output.updates);
    updates.push_back({held.label, held.role});
    if (held.role == InputRole::parameter) changing.push_back(held.label);
  }
}

}  // namespace hone
