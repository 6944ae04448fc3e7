// How operands lie beside the elements a kernel works on: the questions that fusion asks and lowering answers the same
// way.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/epilogue.h"
#include "ir/graph.h"

namespace hone {

// Whether every operand and result of a pointwise node has a dtype that kernels load and store.
bool is_compilable(const Graph& graph, const Node& node);

// An operand of an epilogue over [M, N] = (all leading dimensions, last dimension) of `result`; none: not expressible.
std::optional<Epilogue::Access> gemm_access(const std::vector<int64_t>& operand, const std::vector<int64_t>& result);

// An operand of a row kernel over rows of `result`'s last dimension.
struct RowAccess {
  bool row_scalar = false;
  int64_t row_stride = 0;  // elements; 0: the same row for all
  int64_t period = 0;      // > 0: operand row = row % period
};
std::optional<RowAccess> row_access(const std::vector<int64_t>& operand, const std::vector<int64_t>& result);

// What a row op works along, as the middle of [outer, length, inner]; none: axes that do not lie together.
struct AxisRun {
  int64_t outer = 1, length = 1, inner = 1;
};
std::optional<AxisRun> reduced_run(const Node& node, const std::vector<int64_t>& shape);

// Extents of a dense result and each operand's strides, neighbouring dimensions merged where every operand allows it.
struct CollapsedLoops {
  std::vector<int64_t> extents;
  std::vector<std::vector<int64_t>> strides;  // per operand, as many as extents
};
CollapsedLoops collapse(const std::vector<int64_t>& result, const std::vector<std::vector<int64_t>>& operand_strides);
std::vector<int64_t> broadcast_strides(const std::vector<int64_t>& operand, const std::vector<int64_t>& result);
std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape);

}  // namespace hone
