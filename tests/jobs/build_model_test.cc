// hone build: which models it knows, whose weights they get, and what it says of weights that do not fit.
#include "jobs/build_model.h"

#include "base/atomic_file.h"
#include "ops/evaluate.h"
#include "runtime/session.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class BuildModel : public JobsTest {
 protected:
  BuildOptions tiny(uint64_t seed = 1) const {
    return {.model = "convnet",
            .set = {{"widths", "[4, 3]"}, {"num_channels", "1"}, {"image_size", "8"}},
            .weights = "",
            .seed = seed};
  }
  // The tensors of a graph under their names, as PyTorch would save them.
  static std::vector<NamedTensor> state(const Graph& graph) {
    std::vector<NamedTensor> tensors;
    for (ValueId v : graph.constants())
      if (!graph.value(v).label.empty()) tensors.push_back({graph.value(v).label, *graph.constant(v)});
    return tensors;
  }
  std::string put_weights(const std::vector<NamedTensor>& tensors) const {
    write_safetensors(folder / "w.safetensors", tensors);
    return folder / "w.safetensors";
  }
};

TEST_F(BuildModel, TheSameSeedGivesTheSameFileAndAnotherSeedAnother) {
  for (const auto& [name, seed] : {std::pair{"a.safetensors", 1}, {"b.safetensors", 1}, {"c.safetensors", 2}})
    build_to_file(tiny(static_cast<uint64_t>(seed)), folder / name);
  EXPECT_EQ(load_model(folder / "a.safetensors").sha256(), load_model(folder / "b.safetensors").sha256());
  EXPECT_NE(load_model(folder / "a.safetensors").sha256(), load_model(folder / "c.safetensors").sha256());
}

TEST_F(BuildModel, GivenWeightsAreUsedFromAFileAndFromAFolderWithItsConfiguration) {
  const Model random = build_model(tiny(5));
  std::vector<NamedTensor> tensors = state(random.graph);
  tensors.push_back({"features.1.num_batches_tracked", Tensor::of<int64_t>({}, {3})});
  BuildOptions options = tiny();
  options.weights = put_weights(tensors);
  Graph built = build_model(options).graph;
  built.metadata["random_weights"] = "seed 5";
  EXPECT_EQ(print(built), print(random.graph));
  std::filesystem::create_directories(folder / "net");
  write_safetensors(folder / "net/model.safetensors", tensors);
  write_file(folder / "net/config.json", random.files.at("config.json"));
  const Model opened = load_model(folder / "net");
  built.metadata.erase("random_weights");
  EXPECT_EQ(print(opened.graph), print(built));
  EXPECT_THAT(opened.unused, ElementsAre("features.1.num_batches_tracked"));
}

// BertForSequenceClassification saves its encoder below "bert." and its classifier beside it.
TEST_F(BuildModel, ClassifiersTakeTheNamesOfHuggingFace) {
  for (const std::string type : {"Bert", "Deberta", "DebertaV2"}) {
    const std::string prefix = type == "Bert" ? "bert." : "deberta.";
    Json config = bert.config;
    config["architectures"] = {type + "ForSequenceClassification"};
    config["num_labels"] = 3;
    config.erase("model_type");
    BuildOptions options{.model = folder.put("config.json", config.dump()), .set = {}, .weights = ""};
    const Model random = build_model(options);
    std::vector<NamedTensor> tensors = state(random.graph);
    for (NamedTensor& t : tensors) {
      const bool of_encoder = !t.name.starts_with("classifier.") && !(t.name.starts_with("pooler.") && type != "Bert");
      if (of_encoder) t.name = prefix + t.name;
    }
    tensors.push_back({prefix + "embeddings.position_ids", Tensor::of<int64_t>({1, 2}, {0, 1})});
    options.weights = put_weights(tensors);
    Graph built = build_model(options).graph;
    built.metadata["random_weights"] = "seed 1";
    EXPECT_EQ(print(built), print(random.graph)) << type;
    config["model_type"] = type == "DebertaV2" ? "deberta-v2" : prefix.substr(0, prefix.size() - 1);
    folder.put("config.json", config.dump());
    EXPECT_EQ(build_model(options).graph.nodes().size(), built.nodes().size()) << type;
  }
}

TEST_F(BuildModel, TensorsThatAreMissingMisshapenOrLeftOverAreNamed) {
  std::vector<NamedTensor> tensors = state(build_model(tiny()).graph);
  std::erase_if(tensors, [](const NamedTensor& t) { return t.name == "classifier.bias"; });
  for (NamedTensor& t : tensors)
    if (t.name == "features.4.weight") t.tensor = Tensor(DType::f32, {3, 4, 5, 5});
  BuildOptions options = tiny();
  options.weights = put_weights(tensors);
  EXPECT_THAT(error_of([&] { build_model(options); }),
              AllOf(HasSubstr(options.weights), HasSubstr("\"classifier.bias\" [10] is missing"),
                    HasSubstr("\"features.4.weight\" is [3,4,5,5]; the configuration asks for [3,4,3,3]")));
  tensors = state(build_model(tiny()).graph);
  tensors.push_back({"features.8.weight", Tensor(DType::f32, {3})});
  put_weights(tensors);
  EXPECT_THAT(error_of([&] { build_model(options); }),
              AllOf(HasSubstr("features.8.weight"), Not(HasSubstr("features.4"))));
}

TEST_F(BuildModel, UnknownModelsAndKeysAreRefusedWithTheKnownOnes) {
  EXPECT_THAT(error_of([] { build_model({.model = "resnet20"}); }),
              AllOf(HasSubstr("known: "), HasSubstr("mobilenet_v3_small"), HasSubstr("Did you mean resnet")));
  BuildOptions options = tiny();
  options.set["width"] = "3";
  EXPECT_THAT(error_of([&] { build_model(options); }), AllOf(HasSubstr("no key \"width\""), HasSubstr("widths")));
  EXPECT_THAT(error_of([&] { build_model({.model = folder / "none.json"}); }), HasSubstr("none.json"));
  EXPECT_THAT(error_of([&] { build_model({.model = folder.put("list.json", "[1]")}); }), HasSubstr("an object"));
}

TEST_F(BuildModel, PicklesAndWholeModelsAreNoWeights) {
  BuildOptions options = tiny();
  options.weights = folder.put("resnet18.pth", "PK");
  EXPECT_THAT(error_of([&] { build_model(options); }), HasSubstr("a pickle"));
  options.weights = folder / "whole.safetensors";
  build_to_file(tiny(), options.weights);
  EXPECT_THAT(error_of([&] { build_model(options); }), HasSubstr("a whole model"));
  options.weights = put_weights(state(build_model(tiny()).graph));
  EXPECT_THAT(error_of([&] { build_to_file(options, options.weights); }), HasSubstr("another name"));
}

// Compiled and interpreted alike, on images of any size.
TEST_F(BuildModel, WhatIsBuiltRuns) {
  const Graph graph = build_model(tiny()).graph;
  for (int64_t size : {3, 8, 13}) {
    const NamedTensors inputs = default_inputs(graph, {{"B", 2}, {"H", size}, {"W", size}}, 1);
    const std::vector<float> compiled = Session(graph, {}).run(inputs)[0].to_floats();
    const std::vector<float> expected = evaluate(graph, inputs)[0].to_floats();
    ASSERT_EQ(compiled.size(), 20u);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(compiled[i], expected[i], 1e-4) << i;
  }
}

TEST_F(BuildModel, NumbersThatNobodyCanBuildAreRefused) {
  const auto error = [&](const char* model_name, const char* key, const std::string& value) {
    return error_of([&] { build_model({.model = model_name, .set = {{key, value}}, .weights = "", .seed = 1}); });
  };
  for (const char* depths : {"[1000000,1,1,1]", "[600,600,1,1]", "[2147483647,2147483647,2147483647,2147483647]", "[0]",
                             "[-1,1,1,1]", "[4611686018427387904]", "[1e300]", "[]", "3"})
    EXPECT_THAT(error("resnet18", "depths", depths), HasSubstr("depths")) << depths;
  for (const char* number : {"4611686018427387904", "-1", "0", "1e30", "1.5", "[1]"})
    EXPECT_NE(error("resnet18", "num_classes", number), "") << number;
  EXPECT_THAT(error("resnet18", "widths", "[2147483647,2147483647,2147483647,2147483647]"), HasSubstr("memory"));
  EXPECT_NE(error("convnet", "widths", std::string(100'000, '[')), "");
  EXPECT_NE(error("convnet", "widths", "\xff"), "");
}

}  // namespace
}  // namespace hone
