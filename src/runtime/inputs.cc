#include "runtime/inputs.h"

#include <algorithm>

#include "base/text.h"

namespace hone {

Bindings bind_inputs(const Graph& graph, const NamedTensors& inputs) {
  std::vector<std::string> names;
  for (ValueId v : graph.inputs()) names.push_back(graph.value(v).label);
  for (const auto& [name, tensor] : inputs)
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail("the model has no input \"{}\"; it takes {}{}", name, fmt::join(names, ", "), did_you_mean(name, names));
  Bindings bindings;
  for (ValueId v : graph.inputs()) {
    const Value& input = graph.value(v);
    const auto found = inputs.find(input.label);
    if (found == inputs.end()) fail("input \"{}\" is missing; the model takes {}", input.label, fmt::join(names, ", "));
    const Tensor& tensor = found->second;
    if (tensor.is_packed() || tensor.dtype() != input.type.dtype)
      fail("input \"{}\" is {}; the model takes {}", input.label, to_string(tensor.type()), to_string(input.type));
    bind_shape(input.type.shape, tensor.shape(), bindings, fmt::format("input \"{}\"", input.label));
  }
  return bindings;
}

}  // namespace hone
