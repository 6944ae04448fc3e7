// Convolutional networks and perceptrons: shapes and parameter counts of the published ones, values of tiny ones that
// can be followed by hand, and what their configurations must say. bench/peers/compare_torch.py holds the real ones
// against PyTorch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/philox.h"
#include "models/find_model.h"
#include "models/random_weights.h"
#include "ops/evaluate.h"
#include "tests/io/temporary_folder.h"
#include "tests/models/weights_by_name.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Graph build(const Json& config, WeightsByName& weights) {
  return model_for(config, "c.json")
      .build({.config = config, .source = "c.json", .inputs = {}, .pooling = {}, .weights = weights.source()});
}
Graph build(const Json& config) {
  WeightsByName weights;
  return build(config, weights);
}

std::vector<float> logits(const Graph& graph, const std::string& input, const Tensor& x) {
  return evaluate(graph, {{input, x}})[0].to_floats();
}

const Json kTinyResNet = Json::parse(R"({"architectures": ["ResNet"], "block": "basic", "depths": [1], "widths": [1],
  "stem": "small", "num_channels": 1, "num_classes": 1})");
const Json kTinyMobileNet = Json::parse(R"({"architectures": ["MobileNetV3"], "num_channels": 1, "stem_width": 1,
  "hidden_size": 6, "num_classes": 2, "blocks": [[3, 1, 1, true, "hardswish", 1]]})");

TEST(Vision, PublishedModelsHaveTheirPublishedNumberOfParameters) {
  const std::map<std::string, int64_t> published{{"resnet18", 11'689'512},
                                                 {"resnet34", 21'797'672},
                                                 {"resnet50", 25'557'032},
                                                 {"mobilenet_v3_small", 2'542'856},
                                                 {"mobilenet_v3_large", 5'483'032}};
  for (const auto& [name, count] : published) {
    WeightsByName weights;
    const Graph graph = build(preset_config(name), weights);
    verify(graph);
    EXPECT_EQ(weights.parameters(), count) << name;
    EXPECT_EQ(to_string(graph.type(graph.inputs()[0])), "f32[B,3,H,W]");
    EXPECT_EQ(to_string(graph.type(graph.outputs()[0].value)), "f32[B,1000]");
  }
}

TEST(Models, EveryPresetBuilds) {
  for (const ModelDef* def : models::all())
    for (const ModelPreset& preset : def->presets) {
      Json config = preset_config(preset.name);
      if (config.contains("vocab_size"))
        config["vocab_size"] = 10, config["num_hidden_layers"] = 2;  // others are alike
      const Graph graph = build(config);
      verify(graph);
      EXPECT_EQ(graph.outputs()[0].label, "logits") << preset.name;
    }
}

TEST(Vision, NamesAreThoseOfTorchvision) {
  WeightsByName resnet, mobilenet;
  build(preset_config("resnet50"), resnet);
  EXPECT_THAT(resnet.asked.at("layer1.0.downsample.0.weight"), ElementsAre(256, 64, 1, 1));
  EXPECT_THAT(resnet.asked.at("layer4.2.conv2.weight"), ElementsAre(512, 512, 3, 3));
  EXPECT_THAT(resnet.asked.at("fc.weight"), ElementsAre(1000, 2048));
  EXPECT_EQ(resnet.asked.size(), 267u);  // torchvision's 320 without 53 counters of batches
  build(preset_config("mobilenet_v3_small"), mobilenet);
  EXPECT_THAT(mobilenet.asked.at("features.1.block.1.fc1.weight"), ElementsAre(8, 16, 1, 1));
  EXPECT_THAT(mobilenet.asked.at("features.11.block.2.fc2.bias"), ElementsAre(576));
  EXPECT_THAT(mobilenet.asked.at("features.12.1.running_var"), ElementsAre(576));
  EXPECT_THAT(mobilenet.asked.at("classifier.3.weight"), ElementsAre(1000, 1024));
  EXPECT_EQ(mobilenet.asked.size(), 210u);
}

// Identities all along: the stem keeps the positive part p, a block makes it p + p, the mean of 2p is over 4 pixels.
TEST(ResNet, ABlockAddsWhatItComputesToWhatItGets) {
  const Tensor x = Tensor::of<float>({1, 1, 2, 2}, {-4, 1, 2, 5});
  EXPECT_NEAR(logits(build(kTinyResNet), "pixel_values", x)[0], 2 * (1 + 2 + 5) / 4.0, 1e-3);
}

// The first block of the second stage keeps every other pixel, and so does its downsample.
TEST(ResNet, LaterStagesHalveTheImage) {
  Json config = kTinyResNet;
  config["depths"] = {1, 1}, config["widths"] = {1, 1};
  const Tensor x = Tensor::of<float>({1, 1, 3, 3}, {1, 9, 2, 9, 9, 9, 3, 9, 4});
  EXPECT_NEAR(logits(build(config), "pixel_values", x)[0], 4 * (1 + 2 + 3 + 4) / 4.0, 1e-3);
}

TEST(ResNet, ABottleneckHasFourTimesItsWidth) {
  Json config = kTinyResNet;
  config["block"] = "bottleneck";
  WeightsByName weights;
  const Graph graph = build(config, weights);
  EXPECT_THAT(weights.asked.at("layer1.0.conv3.weight"), ElementsAre(4, 1, 1, 1));
  EXPECT_THAT(weights.asked.at("layer1.0.downsample.0.weight"), ElementsAre(4, 1, 1, 1));
  // Channels 0 to 3 of block and downsample are all the stem's; fc reads the first.
  EXPECT_NEAR(logits(graph, "pixel_values", Tensor::of<float>({1, 1, 1, 1}, {3}))[0], 6, 1e-3);
}

// Hard swish keeps 6 and above. The gate hard_sigmoid(3) is 1, hard_sigmoid(-3) is 0, of nothing but the bias here.
TEST(MobileNetV3, ClosedGatesLeaveTheResidual) {
  const Tensor x = Tensor::of<float>({1, 1, 1, 1}, {8});
  for (const auto& [bias, value] : {std::pair{3.f, 16.f}, {-3.f, 8.f}}) {
    WeightsByName weights;
    const std::string gate = "features.1.block.1.";
    weights.given = {{gate + "fc1.weight", std::vector<float>(8, 0.f)},
                     {gate + "fc2.weight", std::vector<float>(8, 0.f)},
                     {gate + "fc2.bias", {bias}}};
    EXPECT_NEAR(logits(build(kTinyMobileNet, weights), "pixel_values", x)[0], value, 0.05);  // epsilon 1e-3, five times
  }
}

TEST(ConvNet, PoolsKeepTheLargestOfTheirWindow) {
  const Json config =
      Json::parse(R"({"architectures": ["ConvNet"], "widths": [1], "num_channels": 1, "num_classes": 1})");
  const Tensor x = Tensor::of<float>({1, 1, 2, 2}, {1, 7, 2, -5});
  EXPECT_NEAR(logits(build(config), "pixel_values", x)[0], 7, 1e-3);
}

TEST(Mlp, IsLinearLayersWithTheActivationBetweenThem) {
  const Json config = Json::parse(R"({"architectures": ["MLP"], "num_features": 2, "widths": [2], "num_classes": 1})");
  WeightsByName weights;
  weights.given = {{"layers.0.weight", {1, 1, -1, -1}}, {"layers.0.bias", {0, 1}}, {"layers.2.weight", {2, 10}}};
  const Graph graph = build(config, weights);
  EXPECT_THAT(logits(graph, "features", Tensor::of<float>({2, 2}, {1, 2, -1, -2})), ElementsAre(6, 40));
}

TEST(Vision, ConfigurationsAreCheckedKeyByKey) {
  const auto refusal = [](Json config, const char* key, const Json& value) {
    config[key] = value;
    return error_of([&] { build(config); });
  };
  EXPECT_THAT(refusal(kTinyResNet, "depths", 2), HasSubstr("c.json: key \"depths\" is 2; accepted: a list"));
  EXPECT_THAT(refusal(kTinyResNet, "depths", {1, 0}), HasSubstr("a list of integers from 1"));
  EXPECT_THAT(refusal(kTinyResNet, "widths", {1, 1}), HasSubstr("1 depths and 2 widths"));
  EXPECT_THAT(refusal(kTinyResNet, "block", "wide"), HasSubstr("\"wide\"; accepted: basic, bottleneck"));
  EXPECT_THAT(refusal(kTinyResNet, "architectures", {"ResNett"}), HasSubstr("nearest of those that are: ResNet"));
  EXPECT_THAT(refusal(kTinyMobileNet, "blocks", Json::array()), HasSubstr("a list of rows"));
  EXPECT_THAT(refusal(kTinyMobileNet, "blocks", {{3, 1, 1, true, "relu"}}), HasSubstr("stride"));
  EXPECT_THAT(refusal(kTinyMobileNet, "blocks", {{3, 1, 1, true, "swich", 1}}), HasSubstr("Did you mean swish"));
  EXPECT_THAT(error_of([] { preset_config("resnet19"); }), HasSubstr("Did you mean resnet18"));
}

// With its own statistics, what a batch_norm gives has the mean and deviation that its bias and weight say.
TEST(RandomWeights, SettledBatchNormsGiveTheirBiasAsMeanAndTheirWeightAsDeviation) {
  const Json config = Json::parse(R"({"architectures": ["ConvNet"], "widths": [4, 3], "num_channels": 2})");
  const Bindings sizes{{"B", 2}, {"H", 16}, {"W", 16}};
  Graph graph =
      model_for(config, "c")
          .build({.config = config, .source = "c", .inputs = {}, .pooling = {}, .weights = random_weights(7)});
  settle_batch_norms(graph, sizes, 7);
  const NodeId deepest = graph.nodes("batch_norm").back();
  graph.set_outputs({{graph.result(deepest), "y"}});
  Philox random(7, hash_text("pixel_values"));
  Tensor x(DType::f32, {2, 2, 16, 16});
  for (float& v : x.mutable_as<float>()) v = random.normal();
  const std::vector<double> y = evaluate(graph, {{"pixel_values", x}})[0].to_doubles();
  const std::vector<float> weight = graph.constant(graph.operand(deepest, 1))->to_floats(),
                           bias = graph.constant(graph.operand(deepest, 2))->to_floats();
  for (size_t c = 0; c < 3; ++c) {
    double sum = 0, squares = 0;
    for (size_t n = 0; n < 2; ++n)
      for (size_t i = 0; i < 64; ++i) sum += y[(n * 3 + c) * 64 + i], squares += std::pow(y[(n * 3 + c) * 64 + i], 2);
    EXPECT_NEAR(sum / 128, bias[c], 1e-4);
    EXPECT_NEAR(std::sqrt(squares / 128 - std::pow(sum / 128, 2)), weight[c], 1e-3);
  }
}

TEST(RandomWeights, DependOnSeedAndNameAlone) {
  const std::vector<int64_t> shape{8, 8, 3, 3};
  EXPECT_TRUE(random_weights(1)("a.weight", shape).same_bits(random_weights(1)("a.weight", shape)));
  EXPECT_FALSE(random_weights(1)("a.weight", shape).same_bits(random_weights(2)("a.weight", shape)));
  EXPECT_FALSE(random_weights(1)("a.weight", shape).same_bits(random_weights(1)("b.weight", shape)));
}

}  // namespace
}  // namespace hone
