// How operators of windows and images become ops, beyond what ONNX's own cases show: symbolic and computed sizes, old
// versions, uses that are refused.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/io/one_node.h"

namespace hone {
namespace {

TEST(OnnxConv, SamePadsWorkForAnySize) {
  OneNode conv("Conv", 11);
  conv.input("f32[B,1,W]")
      .constant(f32({1, 1, 3}, {1, 10, 100}))
      .set("auto_pad", "SAME_LOWER")
      .set("strides", Integers{2});
  EXPECT_EQ(conv.type(), "f32[B,1,(W+1)/2]");
  EXPECT_EQ(conv.run({f32({1, 1, 3}, {1, 2, 3})})[0].to_floats(), (Floats{210, 32}));
  EXPECT_EQ(conv.run({f32({1, 1, 2}, {1, 2})})[0].to_floats(), (Floats{210}));
}

TEST(OnnxConv, GivesTheElementTypeOfX) {
  OneNode conv("Conv", 11);
  conv.input("f16[1,1,2]").constant(f32({1, 1, 1}, {3}).converted(DType::f16));
  EXPECT_EQ(conv.type(), "f16[1,1,2]");
}

TEST(OnnxConvTranspose, AnOutputShapeOverridesPads) {
  OneNode node("ConvTranspose", 11);
  node.input("f32[1,1,2]").constant(f32({1, 1, 3}, {1, 10, 100})).set("strides", Integers{2});
  node.set("output_shape", Integers{3}).set("pads", Integers{0, 0});
  EXPECT_EQ(node.run({f32({1, 1, 2}, {1, 2})})[0].to_floats(), (Floats{10, 102, 20}));
}

TEST(OnnxGlobalPools, WorkForAnySizes) {
  const Tensor x = f32({1, 1, 2, 2}, {1, -2, 2, 4});
  const auto pooled = [&](const char* op) { return OneNode(op, 11).input("f32[B,1,H,W]").run({x})[0].to_floats(); };
  EXPECT_EQ(pooled("GlobalMaxPool"), (Floats{4}));
  EXPECT_EQ(pooled("GlobalAveragePool"), (Floats{1.25f}));
  EXPECT_EQ(pooled("GlobalLpPool"), (Floats{5}));
}

TEST(OnnxMaxPool, IndicesAreEmittedOnlyWhereTheyAreWanted) {
  OneNode one("MaxPool", 12), two("MaxPool", 12, 2);
  for (OneNode* node : {&one, &two})
    node->input("f32[1,1,2,2]").set("kernel_shape", Integers{2, 2}).set("storage_order", 1);
  EXPECT_EQ(one.graph().nodes().size(), 1u);
  EXPECT_EQ(two.run({f32({1, 1, 2, 2}, {1, 9, 2, 3})})[1].to_integers(), (Integers{2}));
}

TEST(OnnxResize, KeepsSymbolsAndTakesComputedSizes) {
  OneNode by_scale("Resize", 13), computed("Resize", 13);
  by_scale.input("f32[B,W]").absent().constant(f32({2}, {1, 2})).set("mode", "linear");
  EXPECT_EQ(by_scale.type(), "f32[B,2*W]");
  computed.input("f32[1,W]").absent().absent().input("i64[2]").set("mode", "linear");
  EXPECT_EQ(computed.run({f32({1, 2}, {1, 2}), i64({2}, {2, 2})})[0].to_floats(), (Floats{1, 2, 1, 2}));
}

TEST(OnnxResize, ReadsAnEmptyTensorAsAbsent) {
  OneNode node("Resize", 11);
  node.input("f32[1,2]").constant(f32({0}, {})).constant(f32({0}, {})).constant(i64({2}, {1, 4}));
  EXPECT_EQ(node.run({f32({1, 2}, {1, 2})})[0].to_floats(), (Floats{1, 1, 2, 2}));
}

TEST(OnnxResize, OfVersion10RoundsUpWhereAnAxisShrinks) {
  OneNode node("Resize", 10), upsample("Upsample", 7);
  node.input("f32[4]").constant(f32({1}, {0.6f}));
  EXPECT_EQ(node.run({f32({4}, {1, 2, 3, 4})})[0].to_floats(), (Floats{1, 3}));
  upsample.input("f32[1,2]").set("scales", Floats{1, 2});
  EXPECT_EQ(upsample.run({f32({1, 2}, {1, 2})})[0].to_floats(), (Floats{1, 1, 2, 2}));
}

TEST(OnnxGroupNormalization, ScalesGroupsBeforeVersion21AndChannelsFromThenOn) {
  const Tensor x = f32({1, 2, 2}, {1, -1, 1, -1});
  OneNode groups("GroupNormalization", 18), channels("GroupNormalization", 21);
  groups.input("f32[B,2,W]").constant(f32({1}, {3})).constant(f32({1}, {10})).set("num_groups", 1);
  channels.input("f32[B,2,W]").constant(f32({2}, {3, 5})).constant(f32({2}, {10, 20})).set("num_groups", 1);
  const auto rounded = [&](const OneNode& node) {
    Floats values = node.run({x})[0].to_floats();
    for (float& value : values) value = std::round(value * 1000) / 1000;
    return values;
  };
  EXPECT_EQ(rounded(groups), (Floats{13, 7, 13, 7}));
  EXPECT_EQ(rounded(channels), (Floats{13, 7, 25, 15}));
}

OneNode batch_norm_of_two_rows(int opset, int outputs, float epsilon = 0) {
  OneNode node("BatchNormalization", opset, outputs);
  node.input("f32[B,1]");
  for (float value : {2, 1, 10, 6}) node.constant(f32({1}, {value}));  // scale, bias, running mean and variance
  node.set("epsilon", epsilon);
  return node;
}

TEST(OnnxBatchNormalization, InTrainingModeGoesByTheBatchAndCarriesStatisticsOn) {
  for (const auto& [opset, outputs] : {std::pair{15, 3}, {9, 5}}) {
    OneNode node = batch_norm_of_two_rows(opset, outputs);
    if (opset >= 14) node.set("training_mode", 1);
    node.set("momentum", 0.5f);
    const std::vector<Tensor> got = node.run({f32({2, 1}, {4, 8})});  // mean 6, variance of the population 4
    const std::vector<Floats> want{{-1, 3}, {8}, {5}, {6}, {4}};
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].to_floats(), want[i]) << opset << " output " << i;
  }
}

TEST(OnnxBatchNormalization, InTrainingModeIsANormToTrain) {
  OneNode node = batch_norm_of_two_rows(15, 1, 1e-5f);
  node.set("training_mode", 1).set("momentum", 0.9f);
  const Graph graph = node.graph();
  ASSERT_EQ(graph.nodes("batch_norm_train").size(), 1u);
  EXPECT_EQ(graph.node(graph.nodes("batch_norm_train")[0]).attributes.get<double>("momentum"), 0.1);
  EXPECT_EQ(node.run({f32({1, 1}, {4})})[0].to_floats(), Floats{1});  // a row alone: the bias
}

TEST(OnnxBatchNormalization, KeepsAMomentumThatIsNotTheUsualOne) {
  OneNode node = batch_norm_of_two_rows(15, 1);
  node.set("momentum", 0.99f);
  const Graph graph = node.graph();
  EXPECT_EQ(graph.node(graph.nodes("batch_norm")[0]).attributes.get<double>("momentum"), 0.01);
}

TEST(OnnxBatchNormalization, TrainingBeforeVersion7IsRefused) {
  const OnnxImport result = batch_norm_of_two_rows(6, 1).import();
  ASSERT_EQ(result.unsupported.size(), 1u);
  EXPECT_NE(result.unsupported[0].reason.find("which trains"), std::string::npos) << result.unsupported[0].reason;
}

TEST(OnnxDepthToSpace, AndSpaceToDepthUndoEachOther) {
  Floats values(32);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Tensor x = f32({1, 8, 2, 2}, values);
  for (const char* mode : {"DCR", "CRD"}) {
    OneNode spread("DepthToSpace", 13), gather("SpaceToDepth", 13);
    spread.input("f32[B,8,H,W]").set("blocksize", 2).set("mode", mode);
    gather.input("f32[B,C,H,W]").set("blocksize", 2).set("mode", mode);
    EXPECT_EQ(spread.type(), "f32[B,2,2*H,2*W]");
    EXPECT_TRUE(gather.run(spread.run({x}))[0].same_bits(x)) << mode;
  }
}

TEST(OnnxNonMaxSuppression, GivesAsManyRowsAsItFinds) {
  OneNode node("NonMaxSuppression", 11);
  node.input("f32[1,N,4]").input("f32[1,1,N]").constant(i64({1}, {9}));
  EXPECT_EQ(node.type(), "i64[_1,3]");
  EXPECT_EQ(node.run({f32({1, 2, 4}, {0, 0, 1, 1, 2, 2, 3, 3}), f32({1, 1, 2}, {0.5f, 0.9f})})[0].to_integers(),
            (Integers{0, 0, 1, 0, 0, 0}));
}

}  // namespace
}  // namespace hone
