// Weights that ONNX files hold as codes stay codes in the graph.
#include <gtest/gtest.h>

#include "io/onnx/import_model.h"
#include "passes/pipelines.h"

namespace hone {
namespace {

// The operators of a model in canonical form, with the format of a packed operand after each: "linear int4.g32".
std::string canonical_operators(const std::string& name) {
  const OnnxImport import = import_onnx(std::string(HONE_TEST_DATA) + "/onnx/test_" + name + "/model.onnx");
  EXPECT_TRUE(import.unsupported.empty());
  const Graph graph = canonicalise(import.graph, {});
  std::string text;
  for (NodeId id : graph.nodes()) {
    text += (text.empty() ? "" : ", ") + std::string(graph.node(id).op->name);
    for (ValueId operand : graph.node(id).operands)
      if (operand != kNone && graph.type(operand).is_packed()) text += " " + to_string(*graph.type(operand).format);
  }
  return text;
}

TEST(OnnxPacked, MatMulNBitsIsLinearWithAPackedWeight) {
  EXPECT_EQ(canonical_operators("ms_matmul_nbits_2_block16_zero_none"), "linear int2.g16");
  EXPECT_EQ(canonical_operators("ms_matmul_nbits_4_block16_zero_none"), "linear int4.g16");
  EXPECT_EQ(canonical_operators("ms_matmul_nbits_4_block32_zero_packed_bias"), "linear uint4.g32.asym");
  EXPECT_EQ(canonical_operators("ms_matmul_nbits_8_block16_zero_packed"), "linear uint8.g16.asym");
}

TEST(OnnxPacked, ZeroPointsThatAreNoCodesAndACutBlockNeedFloats) {
  EXPECT_EQ(canonical_operators("ms_matmul_nbits_4_block32_zero_float_bias"), "linear");
  EXPECT_EQ(canonical_operators("ms_matmul_nbits_4_block16_zero_packed"), "linear");
}

TEST(OnnxPacked, ATableThatIsGatheredFromStaysPacked) {
  EXPECT_EQ(canonical_operators("ms_gather_block_quantized"), "gather int4.g16");
}

}  // namespace
}  // namespace hone
