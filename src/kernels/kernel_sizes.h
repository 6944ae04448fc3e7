// Sizes that kernels compute with. What a file may ask for beyond them is an Error, or left to the interpreter,
// before any plan is made: everything behind these checks multiplies sizes without overflow.
#pragma once

#include "base/error.h"
#include "ir/graph.h"
#include "kernels/fusion.h"
#include "kernels/plane_window.h"
#include "kernels/run_sizes.h"

namespace hone {

// Of a value, with dimensions of 0 taken as 1: 16 bytes each, times the rows of a tile and two operations, stay below
// 2^63, and no machine has that much memory.
constexpr int64_t kMostElements = int64_t{1} << 44;

// Results that lie in memory whatever is fused with them: what is moved or interpreted.
std::vector<ValueId> values_in_memory(const Graph& graph);
// Throws Error for a value of constant shape with more elements than kMostElements.
void check_constant_sizes(const Graph& graph);
// Throws Error for one of `values` with more elements than that, and for one of `in_memory` that exceeds the limit of
// the process.
void check_sizes(const Graph& graph, const RunSizes& sizes, std::span<const ValueId> values,
                 std::span<const ValueId> in_memory);

// Kernels run over elements that exist: a group with a value that has none is interpreted. What concat and scatters
// put beside other elements may be empty.
Support sizes_support(const Graph& graph, const Group& group, const RunSizes& sizes);
Support elements_support(const Graph& graph, const Group& group);  // whatever open sizes are

// Windows of so many taps, or so far beyond their plane, that the scratch or the code of a kernel would be too large.
Support window_support(const SizedWindow& placed);

}  // namespace hone
