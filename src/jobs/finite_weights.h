// What was computed for a file and is no number: found before the file is written, since nothing that reads it says so.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

// Those of `graph` in which NaN or infinities stand that `original` has not: "w has NaN at [1,1]".
std::vector<std::string> nonfinite_weights(const Graph& graph, const Graph& original);

// Throws Error that names the weights of `graph` in which NaN or infinities stand that `original` has not. What a file
// brings along (masks of -inf) is its own.
void require_finite_weights(const Graph& graph, const Graph& original);

}  // namespace hone
