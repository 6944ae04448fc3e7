// Which nodes share a kernel, and that none do where that is asked for.
#include "codegen/fusion.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hone
