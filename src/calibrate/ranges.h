// Observes the ranges of some values of a graph over batches of data.
#pragma once

#include <span>
#include <vector>

#include "ir/statistics.h"
#include "runtime/session.h"

namespace hone {

// Of floats of the graph, each by its observer (calibrate/observer.h); in their order. Throws Error: no batches, an
// unknown observer, a NaN or an infinity, a value that has no elements on any batch.
std::vector<ValueRange> observed_ranges(const Graph& graph, std::span<const ObservedInput> inputs,
                                        std::span<const NamedTensors> batches, const SessionOptions& options = {});

// The smallest and the largest number of each.
std::vector<ValueRange> collect_ranges(const Graph& graph, std::span<const ValueId> values,
                                       std::span<const NamedTensors> batches, const SessionOptions& options = {});

}  // namespace hone
