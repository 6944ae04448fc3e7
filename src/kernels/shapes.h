// How operands lie beside the elements a kernel works on: the questions that fusion asks and lowering answers the same
// way. Where sizes are open an answer holds for all of them, or is none: what may be 1 counts as more.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "kernels/epilogue.h"

namespace hone {

// Whether every operand and result of a pointwise node has a dtype that kernels load and store.
bool is_compilable(const Graph& graph, const Node& node);

// An operand of an epilogue over [M, N] = (all leading dimensions, last dimension) of `result`; none: not expressible.
std::optional<Epilogue::Access> gemm_access(const Shape& operand, const Shape& result);

// Of classes with an epilogue.
inline constexpr GroupRules kEpilogueRules{
    .takes_users = [](const Graph&, NodeId) { return true; },
    .operand_fits = [](const Shape& operand, const Shape& like) { return gemm_access(operand, like).has_value(); }};

// An operand of a row kernel over rows of `result`'s last dimension.
struct RowAccess {
  bool row_scalar = false;
  Dim row_stride = 0;  // elements; 0: the same row for all
  Dim period = 0;      // > 0: operand row = row % period
};
std::optional<RowAccess> row_access(const Shape& operand, const Shape& result);

// What a row op works along, as the middle of [outer, length, inner]; none: axes that an operand lists, or that do not
// lie together.
struct AxisRun {
  Dim outer = 1, length = 1, inner = 1;
};
std::optional<AxisRun> reduced_run(const Node& node, const Shape& shape);

// Extents of a dense result and each operand's strides, neighbouring dimensions merged where every operand allows it.
struct CollapsedLoops {
  Shape extents;
  std::vector<Shape> strides;  // per operand, as many as extents
};
CollapsedLoops collapse(const Shape& result, const std::vector<Shape>& operand_strides);
// Of an operand with strides `own`. None where the sizes of a run decide whether a dimension is broadcast.
std::optional<Shape> broadcast_strides(const Shape& operand, const Shape& own, const Shape& result);
Shape dense_strides(const Shape& shape);

}  // namespace hone
