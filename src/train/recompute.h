// Activations computed again for the backward pass, instead of kept since the forward pass. The forward pass is cut
// where a single value goes on; of a stretch between two cuts only that value is kept. Chen et al., "Training deep nets
// with sublinear memory cost" (2016).
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace hone {

// `forward` are the nodes from which gradients were taken, in order; nodes after them that read results of a stretch,
// which holds `cuts` of its places, read copies. The last stretch stays: it is read at once. `parameters` are those
// that gradients were taken by. Returns the copies.
std::vector<NodeId> recompute_activations(Graph& graph, std::span<const NodeId> forward,
                                          std::span<const ValueId> parameters, int64_t cuts);

// Other nodes than `forward` read its results behind barriers, so that nothing of the backward pass is computed in
// kernels of the forward pass: it would be one more tensor to keep.
void keep_passes_apart(Graph& graph, std::span<const NodeId> forward);

}  // namespace hone
