// Checks the tensors a caller gives against a graph's inputs and binds its symbolic dimensions.
#pragma once

#include "runtime/session.h"

namespace hone {

// Throws Error naming the input when one is missing, unknown (with the nearest names), of another element type or shape.
Bindings bind_inputs(const Graph& graph, const NamedTensors& inputs);

}  // namespace hone
