// Exporters store equal tensors once: the scales of ones and the biases of zeros of several fresh layers become one.
#pragma once

#include "ir/graph.h"

namespace hone {

// Tensors of a single number that several layers read as scales, biases or slopes, apart again: one a layer, named
// NAME, NAME.2 and so on. Where layers read other weights together, the model shares its layers, and nothing changes.
Graph with_merged_weights_apart(Graph graph);

}  // namespace hone
