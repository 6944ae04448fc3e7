// How ops stand to the order of axes: what a node does to transpose(s) is what another does to s, transposed after.
#pragma once

#include <optional>

#include "passes/permutation.h"

namespace hone {

// A node on the sources s of transposed operands, all of the same permutation.
struct Moved {
  const OpDef* op;
  Attributes attributes;
  Permutation result;  // what its results must be transposed by to be those of the node
};

bool has_axis_rule(const OpDef& op);

// Operands that may be transposed, the first ones; the others speak of axes by their position in lists.
size_t transposed_operands(const Node& node);

// None where the op has no rule, or where there would no longer be a kernel for the axes that it works on.
std::optional<Moved> moved_before(const Graph& graph, const Node& node, const Permutation& perm);

}  // namespace hone
