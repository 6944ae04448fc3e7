// A Graph as a picture: DOT text always, SVG through Graphviz where it is installed (dot_svg.h).
#pragma once

#include <string>

#include "ir/graph.h"

namespace hone {

struct DotOptions {
  // Draws a repeated layer once: layers are told apart by the numbers in their constants' names (encoder.layer.3.…);
  // one that looks like the layer before it, types and formats included, becomes a single box that says so.
  bool fold_repeats = true;
};

// Operation nodes are coloured by how they compute, inputs and outputs are rounded, constants are boxes with their
// format, and every edge carries the type of its value.
std::string to_dot(const Graph& graph, const DotOptions& options = {});

// What the picture shows, in one sentence.
std::string describe(const Graph& graph);

}  // namespace hone
