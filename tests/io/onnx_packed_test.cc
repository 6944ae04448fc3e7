// Weights that ONNX files hold as codes stay codes in the graph.
#include <gtest/gtest.h>

#include "io/onnx/import_model.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "passes/pipelines.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

// The operators of a model in canonical form, with the format of a packed operand after each: "linear int4.g32".
std::string canonical_operators(const std::string& name) {
  const OnnxImport import = import_onnx(std::string(test::kOnnxCases) + "/test_" + name + "/model.onnx");
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
  EXPECT_EQ(canonical_operators("ms_matmul_nbits_4_block16_zero_packed"), "linear uint4.g16.asym");  // a cut block
}

TEST(OnnxPacked, ZeroPointsThatAreNoCodesNeedFloats) {
  EXPECT_EQ(canonical_operators("ms_matmul_nbits_4_block32_zero_float_bias"), "linear");
}

TEST(OnnxPacked, ATableThatIsGatheredFromStaysPacked) {
  EXPECT_EQ(canonical_operators("ms_gather_block_quantized"), "gather int4.g16");
}

// Codes -100 .. 100 in an order that repeats nowhere near a row.
Tensor many_codes(std::vector<int64_t> shape) {
  Tensor codes(DType::i8, std::move(shape));
  int code = 0;
  for (int8_t& each : codes.mutable_as<int8_t>()) each = static_cast<int8_t>((code = (code * 31 + 7) % 201) - 100);
  return codes;
}

Tensor many_scales(std::vector<int64_t> shape, double least) {
  std::vector<double> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = least * static_cast<double>(1 + i % 1000);
  return Tensor::from_doubles(DType::f32, std::move(shape), values);
}

// What becomes of an output that is a weight: its format, if it decodes to the same bits.
std::string recognised(const Graph& graph) {
  const Graph packed = run_pass(graph, "recognise_packed");
  if (packed.constants().size() != 1) return "not recognised";
  if (!evaluate(graph, {})[0].same_bits(evaluate(packed, {})[0])) return "other values";
  return to_string(*packed.constant(packed.constants()[0])->format());
}

// dequantize_linear(codes, scales), seen as `shape`.
std::string recognised(const Tensor& codes, const Tensor& scales, const Shape& shape) {
  Graph graph;
  const ValueId decoded =
      graph.emit(ops::get("dequantize_linear"), {graph.add_constant("w", codes), graph.add_constant("s", scales)},
                 {{"dtype", DType::f32}});
  graph.add_output(graph.emit(ops::get("reshape"), {decoded}, {{"shape", shape}}), "y");
  return recognised(graph);
}

// Blocks of 32 along the axis, the last of them cut; or places that belong to blocks in another way.
std::string recognised_cut(const Tensor& codes, const Tensor& scales, int axis, int64_t shift = 0) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < codes.dim(axis); ++i) places.push_back((i + shift) / 32);
  Graph graph;
  const ValueId scale =
      graph.emit(ops::get("gather"),
                 {graph.add_constant("s", scales), graph.add_constant("", Tensor::of({codes.dim(axis)}, places))},
                 {{"axis", int64_t{axis}}});
  graph.add_output(
      graph.emit(ops::get("dequantize_linear"), {graph.add_constant("w", codes), scale}, {{"dtype", DType::f32}}), "y");
  return recognised(graph);
}

// More elements than are looked at together.
TEST(OnnxPacked, LargeWeightsArePackedPartByPart) {
  EXPECT_EQ(recognised(many_codes({1300, 8, 32}), many_scales({1300, 8, 1}, 0.25), {1300, 256}), "int8.g32");
  EXPECT_EQ(recognised(many_codes({1300, 8, 32}), many_scales({1300, 1, 1}, 0.25), {1300, 8, 32}), "int8.channel");
  EXPECT_EQ(recognised(many_codes({1300, 256}), many_scales({256}, 0.25), {1300, 256}), "int8.channel.ax1");
  EXPECT_EQ(recognised(many_codes({1300, 256}), many_scales({}, 0.25), {1300, 256}), "int8");
  EXPECT_EQ(recognised(many_codes({40, 32, 256}), many_scales({40, 1, 256}, 0.25), {1280, 256}), "int8.g32.ax0");
  EXPECT_EQ(recognised(many_codes({1300, 8, 32}), Tensor::from_doubles(DType::f32, {1, 1, 1}, std::vector{0.25}),
                       {1300, 256}),
            "mxint8");
}

TEST(OnnxPacked, TheLastBlockMayBeCut) {
  EXPECT_EQ(recognised_cut(many_codes({1300, 250}), many_scales({1300, 8}, 0.25), 1), "int8.g32");
  EXPECT_EQ(recognised_cut(many_codes({250, 1300}), many_scales({8, 1300}, 0.25), 0), "int8.g32.ax0");
  EXPECT_EQ(recognised_cut(many_codes({3, 50}), Tensor::of<float>({3, 2}, {1, 2, 4, 8, 0.5, 1}), 1), "mxint8");
  EXPECT_EQ(recognised_cut(many_codes({250, 1300}), many_scales({9, 1300}, 0.25), 0, 5), "not recognised");
}

}  // namespace
}  // namespace hone
