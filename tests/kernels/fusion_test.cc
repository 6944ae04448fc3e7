// Which nodes share a kernel, and that none do where that is asked for.
#include "kernels/fusion.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/lower.h"
#include "tests/passes/parse_ops.h"

namespace hone {
namespace {

std::vector<std::string> lines(const Graph& graph, bool together = true) {
  std::vector<std::string> result;
  for (const Group& group : fuse(graph, together)) result.push_back(to_string(graph, group));
  return result;
}

const char* const kProduct = R"(graph g {
    %x : f32[4,8] = input "x"
    %w : f32[8,8] = input "w"
    %p = matmul %x, %w
    %r = relu %p
    %s = softmax %r
    %t = mul %s, 2.0
    return %t as "t"
  })";

TEST(Fusion, PointwiseNodesJoinTheirAnchor) {
  EXPECT_EQ(lines(test::parse(kProduct)),
            (std::vector<std::string>{"gemm matmul+relu -> %r", "row softmax+mul -> %t"}));
}

TEST(Fusion, NotTogetherMeansAKernelForEachNode) {
  EXPECT_EQ(lines(test::parse(kProduct), false),
            (std::vector<std::string>{"gemm matmul -> %p", "pointwise relu -> %r", "row softmax -> %s",
                                      "pointwise mul -> %t"}));
}

// Each of two products would take in what reads both, but not one thing each.
TEST(Fusion, GroupsDoNotReadFromEachOther) {
  const Graph graph = test::parse(R"(graph g {
    %x : f32[4,8] = input "x"
    %s : f32[4,1] = input "s"
    %u : f32[8,8] = input "u"
    %v : f32[8,1] = input "v"
    %p = matmul %x, %u
    %a = matmul %x, %v
    %q = add %p, %a
    %t = reduce_max %p {axes=[1]}
    %f = reduce_sum %x {axes=[1]}
    %c = mul %f, %t
    %d = mul %p, %f
    %e = mul %a, %c
    return %q as "q", %d as "d", %e as "e"
  })");
  EXPECT_EQ(lines(graph).size(), 5u);
}

// One function stays small enough for LLVM, however long the chain, and the time is that of its length.
TEST(Fusion, ChainsAreCutIntoGroupsOfBoundedSize) {
  Graph graph;
  ValueId x = graph.add_input("x", {.dtype = DType::f32, .shape = {4}, .format = std::nullopt});
  for (int i = 0; i < 5'000; ++i) x = graph.emit(ops::get("relu"), {x});
  graph.add_output(x, "y");
  size_t nodes = 0;
  for (const Group& group : fuse(graph)) {
    EXPECT_LE(group.nodes.size(), 64u);
    nodes += group.nodes.size();
  }
  EXPECT_EQ(nodes, 5'000u);
}

TEST(Fusion, AValueWithThousandsOfUsersGoesToGroupsOfTheirOwn) {
  Graph graph;
  const ValueId x = graph.add_input("x", {.dtype = DType::f32, .shape = {4}, .format = std::nullopt}),
                r = graph.emit(ops::get("relu"), {x});
  for (int i = 0; i < 3'000; ++i)
    graph.add_output(graph.emit(ops::get("add"), {r, graph.add_scalar(static_cast<float>(i))}), fmt::format("y{}", i));
  EXPECT_EQ(fuse(graph).size(), 3'001u);
}

// y = y + y sixty times over: as a tree that is 2^60 nodes.
TEST(Fusion, SharedOperandsAreLookedAtOnce) {
  Graph graph;
  ValueId x = graph.add_input("x", {.dtype = DType::f32, .shape = {4, 8}, .format = std::nullopt});
  x = graph.emit(ops::get("softmax"), {x});
  for (int i = 0; i < 60; ++i) x = graph.emit(ops::get("add"), {x, x});
  graph.add_output(x, "y");
  const LoweredGraph lowered = lower(graph, {});
  ASSERT_EQ(lowered.steps.size(), 1u);
  EXPECT_EQ(lowered.steps[0]->group.nodes.size(), 61u);
}

}  // namespace
}  // namespace hone
