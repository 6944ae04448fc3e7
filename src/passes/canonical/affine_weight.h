// A weight as files have it: codes, scales and zero points, which dequantize_linear decodes. It is read some rows at a
// time, so that it is never there as wider numbers as a whole.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace hone {

// Blocks along an axis of the codes, of which the last may be cut: scale and zero point have one element for each
// block, and places[i] = i / block says which is that of place i.
struct CutBlocks {
  size_t axis;
  int64_t block;
  Tensor places;  // i64
};

struct AffineWeight {
  Tensor codes, scale;  // scale and zero point broadcast to the codes, but along the axis of `cut`
  std::optional<Tensor> zero_point;
  std::optional<CutBlocks> cut;
};

// The constant operands of a dequantize_linear, seen through reshapes and gathers of blocks. None where one is no
// constant, or the codes are neither integers nor small floats.
std::optional<AffineWeight> affine_weight(const Graph& graph, const Node& node);

// What scale or zero point hold for each of these elements of the codes.
std::vector<double> values_at(const AffineWeight& weight, const Tensor& beside, const std::vector<int64_t>& elements);

// What the node makes of the weight.
Tensor dequantized(const AffineWeight& weight, const Node& node);

struct Rows {
  int64_t first, count;
};

// Of a shape with at least one element: all rows, about a quarter of a million elements in each part.
std::vector<Rows> parts_of(const std::vector<int64_t>& shape);

// A view of some rows of a plain tensor, or of the codes and what belongs to them.
Tensor rows_of(const Tensor& tensor, Rows rows);
AffineWeight rows_of(const AffineWeight& whole, Rows rows);

}  // namespace hone
