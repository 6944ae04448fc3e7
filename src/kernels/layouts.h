// Inputs and outputs of a graph whose elements lie apart in the memory that a run is given: rows with room between
// them, columns for rows, repeated ones. Types say nothing of it: strides are formulas beside the graph, like its
// sizes, so that kernels take both as arguments.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "kernels/fusion.h"

namespace hone {

// In elements along each dimension, by the labels of inputs and outputs. Others lie row-major.
struct Layouts {
  std::map<std::string, Shape> inputs, outputs;
  std::vector<std::string> symbols;  // in their formulas that are none of the graph's
  bool empty() const { return inputs.empty() && outputs.empty(); }
  Layouts substituted(Bindings sizes) const;  // all symbols but these
};

using ApartValues = std::map<ValueId, Shape>;  // strides of values that do not lie row-major

// Strides of a view of other dimensions; none where it is none for all sizes.
std::optional<Shape> view_strides(const Shape& shape, const Shape& strides, const Shape& view);

// Whether a group's kernels read and write values as they lie.
using TakesApart = std::function<bool(const Graph& graph, const ApartValues& apart, const Group& group)>;

// The graph with a copy, a transpose that leaves axes where they are, before each group that does not take an input as
// it lies, and behind what does not write an output so. Ids of values stay. `together`: as in fuse().
struct LaidGraph {
  Graph graph;
  ApartValues apart;
};
LaidGraph laid_graph(Graph graph, const Layouts& layouts, bool together, const TakesApart& takes);

bool is_copy(const Graph& graph, NodeId node);  // such a transpose

}  // namespace hone
