// Sizes for a run that nobody gave sizes for: what weights say, and what windows and paths leave something of.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

// Symbols of inputs that meet a constant size where the model takes no other: features before a layer's weights,
// channels before a convolution's, what is added to a constant.
Bindings sizes_beside_constants(const Graph& graph);

// `guess`, or the first of larger sizes for the symbols `free` with which every value has an element, as far as sizes
// of inputs alone decide that; `guess` where none are found. No symbol gets more than `most`.
Bindings fitting_sizes(const Graph& graph, const Bindings& guess, const std::vector<std::string>& free, int64_t most);

}  // namespace hone
