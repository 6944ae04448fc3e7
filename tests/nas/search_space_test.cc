// Parameters of a search: what each does to a model, at the corners of its range, and what is refused.
#include "nas/search_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "nas/trial_life.h"
#include "train/nested_weights.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Json json(const std::string& text) { return parse_json(text, "test"); }

TrialPlan plan_for(const std::string& model, const Json& values = Json::object()) {
  TrialPlan plan;
  plan.model = model;
  return plan_of(plan, values);
}

Figures figures(const TrialPlan& plan) { return TrialLife(LifeOptions()).of_untrained(plan); }

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// Weights and biases of linear layers of these widths.
double linears(const std::vector<double>& widths) {
  double sum = 0;
  for (size_t i = 0; i + 1 < widths.size(); ++i) sum += widths[i] * widths[i + 1] + widths[i + 1];
  return sum;
}

TEST(Corners, WidthsAndDepthOfAnMlp) {
  for (const auto& [text, widths] : {std::pair<const char*, std::vector<double>>{"[8]", {784, 8, 10}},
                                     {"[512]", {784, 512, 10}},
                                     {"[8,8,8,8]", {784, 8, 8, 8, 8, 10}},
                                     {"[512,512,512,512]", {784, 512, 512, 512, 512, 10}}}) {
    const Figures f = figures(plan_for("mlp", {{"build.widths", text}}));
    EXPECT_EQ(f.at("parameters"), linears(widths)) << text;
    // Two for each weight, one for each bias, one for each ReLU.
    double flops = 0;
    for (size_t i = 0; i + 1 < widths.size(); ++i)
      flops += 2 * widths[i] * widths[i + 1] + widths[i + 1] * (i + 2 < widths.size() ? 2 : 1);
    EXPECT_NEAR(f.at("flops") / flops, 1, 0.01) << text;
  }
}

TEST(Corners, OneElementOfAList) {
  EXPECT_EQ(figures(plan_for("mlp", {{"build.widths.1", 32}})).at("parameters"), linears({784, 256, 32, 10}));
}

// What is stored of a batch norm for each channel: it is folded into a bias, but where sums are so long that it pays to
// keep the weights exact (passes/canonical/fold_batch_norm.cc), where its four numbers stay.
int64_t norm(int64_t summed) { return summed > 256 ? 4 : 1; }

TEST(Corners, WidthsAndKernelsOfAConvnet) {
  for (int64_t kernel : {1, 3, 5})
    for (int64_t width : {4, 64}) {
      const Figures f = figures(plan_for("convnet", {{"build.widths", fmt::format("[{},{}]", width, 2 * width)},
                                                     {"build.kernel", kernel},
                                                     {"build.num_channels", 1},
                                                     {"build.image_size", 16}}));
      const int64_t taps = kernel * kernel, convs = taps * (width + 2 * width * width);
      const int64_t norms = width * norm(taps) + 2 * width * norm(taps * width);
      EXPECT_EQ(f.at("parameters"), static_cast<double>(convs + norms + 2 * width * 10 + 10)) << kernel << " " << width;
      const auto products =
          static_cast<double>(2 * kernel * kernel * (16 * 16 * width + 8 * 8 * 2 * width * width) + 2 * 2 * width * 10);
      EXPECT_GE(f.at("flops"), products);
      EXPECT_LT(f.at("flops"), products + 40 * 16 * 16 * static_cast<double>(width));  // biases, ReLU and pools
    }
}

TEST(Corners, DepthsWidthsAndStemOfAResNet) {
  const auto parameters = [](const Json& values) { return figures(plan_for("resnet18", values)).at("parameters"); };
  const Json small = {{"build.widths", "[16,32]"}, {"build.depths", "[1,1]"}, {"build.num_classes", 10}};
  Json deep = small, wide = small, small_stem = small;
  deep["build.depths"] = "[3,1]";
  wide["build.widths"] = "[16,64]";
  small_stem["build.stem"] = "small";
  const double block = 2 * (9 * 16 * 16 + 16);  // two convolutions with the biases of their batch norms
  EXPECT_EQ(parameters(deep) - parameters(small), 2 * block);
  // First block of the second stage: 16 → n, n → n, and 1x1 beside it; the last layer.
  const auto stage = [](int64_t n) { return 9 * 16 * n + n + 9 * n * n + n * norm(9 * n) + 16 * n + n + 10 * n; };
  EXPECT_EQ(parameters(wide) - parameters(small), static_cast<double>(stage(64) - stage(32)));
  EXPECT_EQ(parameters(small) - parameters(small_stem), (7 * 7 - 3 * 3) * 3 * 16);
}

TEST(Corners, FormatsCountAsTheyAreStored) {
  const double weights = 784 * 256 + 256 * 128 + 128 * 10, biases = 256 + 128 + 10;
  const auto bits = [](const Json& values) { return figures(plan_for("mlp", values)).at("bits"); };
  EXPECT_DOUBLE_EQ(bits({{"quantize.to", "keep"}}), 32);
  EXPECT_NEAR(bits({{"quantize.to", "int8"}}), (8 * weights + 32 * biases) / (weights + biases), 0.05);
  // 17 bytes for each 32 of a row, the last of which may be padded: 25, 8 and 4 blocks.
  const double blocks = 256 * 25 + 128 * 8 + 10 * 4;
  EXPECT_DOUBLE_EQ(bits({{"quantize.to", "mxint4"}}), (8 * 17 * blocks + 32 * biases) / (weights + biases));
  // One layer alone.
  EXPECT_NEAR(bits({{"format.layers.0.weight", "bf16"}}), 32 - 16 * 784 * 256 / (weights + biases), 0.01);
  // Of two values for one weight the later one counts.
  EXPECT_EQ(bits({{"quantize.to", "int8"}, {"format.layers.0.weight", "keep"}}),
            bits({{"format.op:linear", "int8"}, {"format.layers.0.weight", "keep"}}));
}

TEST(Corners, UnitsThatGoMakeTheModelSmaller) {
  const Figures f =
      figures(plan_for("mlp", {{"build.widths", "[64]"}, {"prune.structure", "neurons"}, {"prune.sparsity", 0.5}}));
  EXPECT_EQ(f.at("parameters"), linears({784, 32, 10}));
}

TEST(Corners, ALayerThatIsLeftOut) {
  const Json widths = {{"build.widths", "[64,64]"}};
  const double whole = figures(plan_for("mlp", widths)).at("parameters");
  Json without = widths;
  without["layer.layers.2"] = "identity";
  const Figures f = figures(plan_for("mlp", without));
  EXPECT_EQ(whole - f.at("parameters"), 64 * 64 + 64);
  without["layer.layers.0"] = "identity";
  EXPECT_THAT(error_of([&] { figures(plan_for("mlp", without)); }), HasSubstr("layers.0 is no square linear layer"));
  Json linear = widths;
  linear["layer.layers.2"] = "linear";
  EXPECT_EQ(figures(plan_for("mlp", linear)).at("parameters"), whole);
}

TEST(InheritedWeights, TakeTheLeadingPart) {
  const TrialLife life{LifeOptions()};
  Graph small = life.start(plan_for("mlp", {{"build.widths", "[4]"}})).graph;
  LifeOptions other;
  other.seed = 7;
  const Graph large = TrialLife(other).start(plan_for("mlp", {{"build.widths", "[8]"}})).graph;
  const auto values = [](const Graph& graph, const char* name) {
    return graph.constant(graph.find_constant(name))->to_floats();
  };
  EXPECT_EQ(inherit_weights(small, large), 4);
  const std::vector<float> of_small = values(small, "layers.2.weight"), of_large = values(large, "layers.2.weight");
  for (size_t row = 0; row < 10; ++row)
    for (size_t column = 0; column < 4; ++column) EXPECT_EQ(of_small[row * 4 + column], of_large[row * 8 + column]);
  EXPECT_THAT(error_of([&] {
                Graph stranger = life.start(plan_for("convnet")).graph;
                inherit_weights(stranger, large);
              }),
              HasSubstr("no weight of a name and shape"));
}

TEST(Knobs, NamesAndValuesThatAreNotKnown) {
  const auto of = [](const std::string& name, const Json& value) {
    return error_of([&] { plan_for("mlp", {{name, value}}); });
  };
  EXPECT_THAT(of("trian.rate", 0.1), HasSubstr("Did you mean train"));
  EXPECT_THAT(of("train.rat", 0.1), HasSubstr("Did you mean rate"));
  EXPECT_THAT(of("train", 0.1), HasSubstr("expected train.KEY"));
  EXPECT_THAT(of("train.steps", "many"), HasSubstr("expected an integer"));
  EXPECT_THAT(of("build.width", 3), HasSubstr("Did you mean widths"));
  EXPECT_THAT(of("build.widths.5", 3), HasSubstr("no element 5"));
  EXPECT_THAT(of("format.x", "int99"), HasSubstr("int99"));
  EXPECT_THAT(of("layer.x", "identify"), HasSubstr("\"identity\""));
  EXPECT_THAT(of("compile.compute", "f16"), HasSubstr("known: f32, bf16"));
  EXPECT_THAT(of("prune.sparsty", 0.5), HasSubstr("Did you mean sparsity"));
}

TEST(ExpandedParameters, OneForEachWeightAndPatternsOfFormats) {
  const Graph graph =
      canonicalise(TrialLife(LifeOptions()).start(plan_for("mlp", {{"build.widths", "[64,64]"}})).graph);
  const auto expanded = [&](const char* text) { return expanded_parameters(json(text), graph, "s.toml"); };
  const Json all = expanded(R"({"format": {"each": "op:linear", "choices": ["int{2,4}.f2", "keep"]}})");
  std::vector<std::string> names;
  for (const auto& [name, value] : all.items()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("format.layers.0.weight", "format.layers.2.weight", "format.layers.4.weight"));
  EXPECT_EQ(all["format.layers.0.weight"]["choices"], json(R"(["int2.f2", "int4.f2", "keep"])"));
  EXPECT_EQ(expanded(R"({"layer": {"each": "layers", "choices": ["linear", "identity"]}})").size(), 1u);  // 64 x 64
  EXPECT_GT(expanded(R"({"quantize.to": ["*"]})")["quantize.to"]["choices"].size(), 15u);
  EXPECT_THAT(error_of([&] { expanded(R"({"format": {"each": "op:conv", "choices": ["int4"]}})"); }),
              HasSubstr("conv"));
  EXPECT_THAT(error_of([&] { expanded(R"({"train.rate": {"each": "x", "choices": [1]}})"); }),
              HasSubstr("each goes with"));
  EXPECT_THAT(error_of([&] { expanded(R"({"quantize.to": ["int{4"]})"); }), HasSubstr("s.toml: parameter quantize.to"));
}

TEST(RequireReachable, SaysTheNearestWhenNothingMeetsABudget) {
  Space space;
  space.add({"build.widths.0", integer_distribution("w", 8, 256)});
  space.add({"quantize.to", category_distribution("q", {"int8", "int4"})});
  const TrialPlan fixed = plan_for("mlp");
  int measured = 0;
  const auto check = [&](const char* limit) {
    const std::vector<FigureLimit> limits{parse_limit(limit)};
    return error_of([&] {
      require_reachable(space, limits, [&](const Json& values) {
        ++measured;
        return figures(plan_of(fixed, values));
      });
    });
  };
  EXPECT_EQ(check("bits<=6"), "");
  EXPECT_EQ(measured, 1);
  const std::string error = check("bits<=3");
  EXPECT_THAT(error, HasSubstr("no candidate meets the budget bits<=3"));
  EXPECT_THAT(error, HasSubstr("nearest is one with bits 4."));
}

}  // namespace
}  // namespace hone
