// Which conv_transpose nodes expand_conv_transpose leaves as they are.
#pragma once

#include <string>

#include "ir/graph.h"

namespace hone {

// Of one that it has left: what of it no convolutions can be made of.
std::string why_not_convolutions(const Graph& graph, const Node& node);

}  // namespace hone
