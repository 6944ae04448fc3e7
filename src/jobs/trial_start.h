// What a candidate's architecture begins as: layers that are left out, and weights of a trained parent.
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

// Constants of `graph` take the values of those of the same name in `parent`: the leading part of each axis
// where the parent's is longer. Others stay. Returns how many took some.
// Throws Error when none does.
int64_t inherit_weights(Graph& graph, const Graph& parent);

}  // namespace hone
