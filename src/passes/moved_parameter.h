// What a graph reads of its parameters, behind ops that only move elements.
#pragma once

#include "ir/graph.h"

namespace hone {

// A parameter, or what moves and casts between floats alone make of one.
bool is_moved_parameter(const Graph& graph, ValueId id);

}  // namespace hone
