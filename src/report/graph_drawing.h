// A graph as a part of a report.
#pragma once

#include <string>

#include "ir/graph.h"
#include "report/record.h"

namespace hone {

// A picture of the graph, or in words why Graphviz can't draw it (it is not installed, the graph is too tangled).
Block graph_drawing(const Graph& graph, const std::string& title);

}  // namespace hone
