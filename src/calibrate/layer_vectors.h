// The vectors that a layer multiplies with the rows of its weight, as they lie in its input: rows of a linear's,
// windows of a conv's.
#pragma once

#include <functional>

#include "passes/layer.h"

namespace hone {

struct LayerVectors {
  int64_t count = 0, width = 0;  // of each group; elements of one
  int64_t groups = 1;            // of a grouped conv
  // Vector `index`: group g's to `out` + g * group_stride. The elements of a window lie as in the weight's matrix (ky,
  // kx, channel of the group) and are zero beyond the edge.
  std::function<void(int64_t index, float* out, int64_t group_stride)> copy;
};

// Whether that is what the layer does: a linear or conv, or a matmul with a matrix, by a weight of floats.
bool multiplies_vectors(const Graph& graph, const Layer& layer);

// Of such a layer; `input`: what it was given in one run, as f32.
LayerVectors layer_vectors(const Graph& graph, const Layer& layer, const Tensor& input);

}  // namespace hone
