// A small image network whose gradients depend on what its open sides turn out to be.
#pragma once

#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/conv.h"
#include "ops/calls/linear.h"
#include "ops/calls/reduce.h"
#include "ops/calls/resize.h"
#include "tests/support/normal_tensor.h"

namespace hone::test {

struct Sides {
  Dim height = Dim::symbol("H"), width = Dim::symbol("W");
};

inline ValueId pyramid_conv(Graph& g, ValueId x, const char* name, uint64_t seed, int64_t channels,
                            int64_t stride = 1) {
  return ops::conv(g, {.x = x,
                       .w = g.add_constant(name, normal_tensor(seed, {2, channels, 3, 3}, 0.5f)),
                       .strides = std::vector{stride, stride},
                       .pads = std::vector<int64_t>{1, 1, 1, 1}});
}

// x[B,1,H,W] to logits [B,3]: a map and one of half its sides, upsampled, added. Whether their sides are equal, or one
// is broadcast, depends on whether those of x are even.
inline Graph pyramid(const Sides& sides = {}) {
  Graph g;
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 1, sides.height, sides.width}});
  const ValueId fine = pyramid_conv(g, x, "fine.weight", 1, 1),
                coarse = pyramid_conv(g, fine, "coarse.weight", 2, 2, 2);
  const ValueId up = ops::resize(
      g, {.x = coarse, .scales = g.add_constant("", Tensor::of<float>({4}, {1, 1, 2, 2})), .mode = "linear"});
  const ValueId sum = ops::relu(g, {ops::add(g, {fine, up})});
  const ValueId pooled = ops::reduce_mean(g, {.x = sum, .axes = std::vector<int64_t>{2, 3}, .keepdims = 0});
  g.add_output(ops::linear(g, {.x = pooled, .w = g.add_constant("head.weight", normal_tensor(3, {3, 2}))}), "logits");
  return g;
}

}  // namespace hone::test
