// The sizes for which a model's file carries machine code of their own, as its metadata states them: "B=1,S=128", more
// of them behind semicolons.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

std::vector<Bindings> sizes_with_own_code(const Graph& graph);  // what can't be read is left out
void note_own_code(Graph& graph, const Bindings& sizes);

}  // namespace hone
