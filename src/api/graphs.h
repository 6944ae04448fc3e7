// Graphs and attributes of include/hone and those of the library.
#pragma once

#include <hone/graph.h>

#include "ir/graph.h"

namespace hone::api {

struct Graph::Impl {
  hone::Graph graph;
};

inline const hone::Graph& engine(const Graph& graph) { return graph.impl()->graph; }
Graph wrapped(hone::Graph graph);

// What the operation's definition says an attribute of that name is. Throws Error for an unknown name, with the known
// ones, and for a value of another kind.
hone::Attribute attribute_of(const OpDef& op, const std::string& name, const Attribute& value);
hone::Attributes attributes_of(const OpDef& op, const Attributes& attributes);
Attributes wrapped(const hone::Attributes& attributes);

const OpDef& op_named(const std::string& name);  // Error with the nearest for one that is none

}  // namespace hone::api
