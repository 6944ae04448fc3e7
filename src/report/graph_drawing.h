// A graph as a picture, drawn by Graphviz: as a file of its own, or as a part of a report.
#pragma once

#include <string>

#include "ir/graph.h"
#include "report/graph_dot.h"
#include "report/record.h"

namespace hone {

struct DrawnGraph {
  std::string svg;   // the <svg> element
  std::string note;  // why it is drawn in blocks; empty where every node is there
};

// Node by node (graph_dot.h); in blocks (graph_blocks.h) where that would be too much for a reader, or for dot within a
// few seconds. Throws Error when `dot` is missing or fails.
DrawnGraph draw_graph(const Graph& graph, const DotOptions& options = {});

// A picture of the graph, or in words why Graphviz can't draw it (it is not installed).
Block graph_drawing(const Graph& graph, const std::string& title);

}  // namespace hone
