// Where the results of the steps lie in the one block of memory they share.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "codegen/lower.h"

namespace hone {

int64_t bytes_in_memory(DType dtype, std::span<const int64_t> shape);  // of a plain tensor
int64_t bytes_in_memory(const TensorType& type);                       // of constant shape

struct Arena {
  int64_t bytes = 0, lower_bound = 0;                // lower_bound: the largest set of values that live at once
  int in_place = 0;                                  // results that took over the memory of an operand
  std::vector<std::pair<ValueId, int64_t>> offsets;  // of values that hold memory
  // Values that are computed where the caller gets them, and as which output.
  std::vector<std::pair<ValueId, size_t>> outputs;
};

// Every value from the step that writes it to the last one that reads it. Outputs have memory of their own, but for
// those that share it with another. A result is written over an operand that the step reads for the last time where its
// kernel allows that.
Arena plan_arena(const Graph& graph, const LoweredGraph& lowered, const RunSizes& sizes);
Arena plan_arena(const Graph& graph, const LoweredGraph& lowered);  // of constant shapes

}  // namespace hone
