// What scan, and a loop of a known number of iterations, compute, and its gradient: a scan that walks the iterations
// backwards. The states that each began with are collected by going forward once more; nothing else of an iteration is
// kept, its body is computed again beside its gradient.
#pragma once

#include <vector>

#include "gradients/gradient.h"

namespace hone {

struct Iteration {
  Graph body;  // takes states, slices, captures; gives states and what is collected
  std::vector<ValueId> states, sliced, captures;
  std::vector<int64_t> axes, directions;                // of what is sliced
  std::vector<int64_t> result_axes, result_directions;  // of what is collected
};

// The scan itself: its results.
std::vector<ValueId> emit_iteration(Graph& graph, const Iteration& iteration);

// Gradients of the states, of what is sliced, and of the captures, from those of the results: kNone for what is no
// plain float, where it is zero, and where it is not wanted; `wanted` is in the same order.
std::vector<ValueId> iteration_gradient(Graph& graph, const Iteration& iteration, std::span<const ValueId> d_results,
                                        std::span<const bool> wanted);

}  // namespace hone
