// Parts a graph whose shapes partly depend on data: what has constant shapes runs as an Executable, all from the first
// unknown size on is evaluated node by node.
#pragma once

#include "ir/graph.h"

namespace hone {

struct SplitGraph {
  Graph fixed;  // every type is a tensor of constant shape; its outputs carry what the rest reads, by label
  Graph open;   // inputs: those of `fixed` under their labels that it reads, and the outputs of `fixed`; the outputs of
                // all
};

bool is_fixed(const Graph& graph);  // nothing is left for `open`

// `graph` is specialised and its constants are evaluated. Ids of values stay those of `graph` in both parts.
SplitGraph split_graph(const Graph& graph);

}  // namespace hone
