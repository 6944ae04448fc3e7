// Observes the smallest and the largest number of each of some values of a graph, over batches of data.
#pragma once

#include <span>
#include <vector>

#include "runtime/session.h"

namespace hone {

struct ValueRange {
  float low = 0, high = 0;  // 0 lies within: the values of padding are none of the data's
};

// In the order of `values`, floats of the graph. Throws Error: no batches, a NaN or an infinity.
std::vector<ValueRange> collect_ranges(const Graph& graph, std::span<const ValueId> values,
                                       std::span<const NamedTensors> batches, const SessionOptions& options = {});

}  // namespace hone
