// Where the results of the steps lie in the one block of memory they share.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/lower.h"

namespace hone {

inline constexpr size_t kPlanes = 4;
using PlaneSizes = std::array<int64_t, kPlanes>;  // elements or codes, scales, zero points, the global scale

// Of a tensor of `type`, whatever sizes that names, with this shape. In one block each plane of a packed one begins on
// a line of the cache.
PlaneSizes plane_sizes(const TensorType& type, std::span<const int64_t> shape);
PlaneSizes plane_offsets(const PlaneSizes& sizes);
int64_t bytes_in_memory(const TensorType& type, std::span<const int64_t> shape);
int64_t bytes_in_memory(const TensorType& type);  // of constant shape

struct Arena {
  int64_t bytes = 0, lower_bound = 0;                // lower_bound: the largest set of values that live at once
  int in_place = 0;                                  // results that took over the memory of an operand
  std::vector<std::pair<ValueId, int64_t>> offsets;  // of values that hold memory
  // Values that are computed where the caller gets them, and as which output.
  std::vector<std::pair<ValueId, size_t>> outputs;
  // Of these, updates that are written over what they update, an input; and the first step that does so: from there on
  // nothing fails.
  struct Overwritten {
    size_t output;
    ValueId input;
  };
  std::vector<Overwritten> overwritten;
  size_t first_overwriting = ~size_t{0};
};

// Every value from the step that writes it to the last one that reads it. Outputs have memory of their own, but for
// those that share it with another. A result is written over an operand that the step reads for the last time where its
// kernel allows that; an update likewise over what it updates, once nothing can fail any more.
// `fails_late`: launches may fail even so, as those of a queue that does not do things at once. An update is written
// over what it updates then where nothing but updates is computed from there on, and where all of it were copied else.
Arena plan_arena(const Graph& graph, const LoweredGraph& lowered, const RunSizes& sizes, bool fails_late);
Arena plan_arena(const Graph& graph, const LoweredGraph& lowered, bool fails_late = false);  // of constant shapes

// Whether what the step's kernel trusts (kernels/kernel.h) is there before a run begins.
bool trusts_given_values(const Graph& graph, const LoweredGraph& lowered, const Step& step);
bool may_fail(const Graph& graph, const LoweredGraph& lowered, const Step& step);  // once a run has begun
// Of weights that kernels read laid out: each run does that, since it or the one before changes them.
bool is_laid_out_in_runs(const Graph& graph, ValueId v);

}  // namespace hone
