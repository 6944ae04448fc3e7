// Orders of axes, as the attribute perm of transpose lists them: axis i of the result is axis perm[i] of x.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace hone {

using Permutation = std::vector<int64_t>;

// Of a transpose whose operand has a known rank: without that, there is no telling which axes it moves.
Permutation permutation_of(const Graph& graph, NodeId transpose);
bool is_permutation(const Graph& graph, NodeId node);          // such a transpose
NodeId permutation_before(const Graph& graph, ValueId value);  // the one that makes the value, or kNone
Permutation inverse(const Permutation& perm);
Permutation composed(const Permutation& first, const Permutation& second);  // of transpose by first, then by second
Shape permuted(const Shape& shape, const Permutation& perm);

// Whether a transpose of such a tensor leaves its elements in their order: axes that change places have length 1.
bool keeps_order(const Shape& shape, const Permutation& perm);

}  // namespace hone
