// Synaptic flow beside sums over paths.
#include "prune/synaptic_flow.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/passes/parse_ops.h"

namespace hone {
namespace {

Graph two_layers() {
  return test::parse(R"(graph g {
  %x : f32[B,2] = input "x"
  %a : f32[3,2] = const "a" {1, -2, 3, -4, 5, -6}
  %b : f32[1,3] = const "b" {-1, 2, 0.5}
  %h : f32[B,3] = linear %x, %a
  %r : f32[B,3] = relu %h
  %y : f32[B,1] = linear %r, %b
  return %y as "logits"
})");
}

// |b| |a| 1 = 3 + 14 + 5.5 flows through each of the two layers, of each sample.
TEST(SynapticFlow, IsTheSumOverPathsForEachLayer) {
  const Graph graph = two_layers();
  EXPECT_DOUBLE_EQ(synaptic_flow(graph, {"a", "b"}, {{"x", Tensor::of<float>({2, 2}, {7, 7, 7, 7})}}, {}),
                   2 * 2 * 22.5);
  EXPECT_DOUBLE_EQ(synaptic_flow(graph, {"b"}, {{"x", Tensor::of<float>({1, 2}, {0, 0})}}, {}), 22.5);
}

TEST(SynapticFlow, RefusesIntegersAndInfinities) {
  const Graph graph = two_layers();
  EXPECT_THROW(synaptic_flow(graph, {"a"}, {{"x", Tensor::of<int64_t>({1, 2}, {1, 1})}}, {}), Error);
  Graph large = graph;  // beyond f32
  large.set_constant(large.find_constant("a"), Tensor::of<float>({3, 2}, std::vector<float>(6, 3e38f)));
  EXPECT_THROW(synaptic_flow(large, {"a"}, {{"x", Tensor::of<float>({1, 2}, {1, 1})}}, {}), Error);
}

}  // namespace
}  // namespace hone
