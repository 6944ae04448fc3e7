// Weights that are a part of a wider network's: of each axis the leading rows, columns, heads or channels, of a
// convolution's window the middle (Cai et al., "Once-for-all", 2020).
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace hone {

// A block of a tensor: where it begins, and how far it goes along each axis.
struct NestedPart {
  std::vector<int64_t> origin, shape;
};

// Where the constant of `graph` lies in one of shape `whole`. None: it is longer along an axis, or has another rank.
std::optional<NestedPart> nested_part(const Graph& graph, ValueId constant, const std::vector<int64_t>& whole);

// Its values, as floats of that shape. `whole` may be packed.
Tensor cut(const Tensor& whole, const NestedPart& part, DType dtype = DType::f32);
// Adds the values of `part`, f32, to those of the block.
void add_to(Tensor& whole, const NestedPart& part, const Tensor& values);

// Floating constants of `graph` take the values of those of the same name in `parent`, where they are a part of them;
// others stay. Returns how many took some. Throws Error when none does.
int64_t inherit_weights(Graph& graph, const Graph& parent);

// Throws Error unless both take the same inputs, and all that is floating and named in `graph` is a part of what has
// that name in `whole`: says the first that is not, and why.
void require_nested(const Graph& graph, const Graph& whole);

}  // namespace hone
