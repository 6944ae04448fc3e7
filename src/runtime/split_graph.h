// A graph made concrete, and parted where its shapes depend on data: what has constant shapes runs as an Executable,
// all from the first unknown size on is evaluated node by node.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace hone {

struct SplitGraph {
  Graph fixed;  // every type is a tensor of constant shape; where there is `open`, its outputs are what that reads
  std::optional<Graph>
      open;  // inputs: of the graph, or outputs of `fixed`, by label; the outputs are those of the graph
};

// `graph` with its symbols bound and what follows from constants and shapes evaluated. Ids of values stay in both
// parts. Throws Error for a symbol of the inputs without a value.
SplitGraph split_graph(const Graph& graph, const Bindings& bindings);

}  // namespace hone
