// What a candidate's architecture begins as: layers that are left out, and what names of layers and weights there are.
#pragma once

#include <span>
#include <string>

#include "ir/graph.h"

namespace hone {

// Whether a constant is called so, or a layer has such a part: "fc1.weight", "fc1.in", "fc1.bias".
bool has_address(const Graph& graph, const std::string& address);

// A square linear layer by each of these names (without ".weight") gives what it is given; names of layers that the
// graph lacks choose nothing. Throws Error for a layer that changes the width.
Graph without_layers(Graph graph, std::span<const std::string> names);

}  // namespace hone
