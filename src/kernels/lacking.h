// Steps that a device has no kernel of its own for: what a run without fallback refuses.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/lower.h"

namespace hone {

struct LackingStep {
  std::string name, ops;  // of the value it computes; "linear+gelu"
  std::string instead;    // what would run it: "the host's gemm kernel"
  std::string why;
};

// Those that compute something.
std::vector<LackingStep> lacking_steps(const Graph& graph, const LoweredGraph& lowered, const RunSizes& sizes);

// Throws Error, which lists them, unless there are none.
void refuse_lacking(const Device& device, std::span<const LackingStep> steps);

}  // namespace hone
