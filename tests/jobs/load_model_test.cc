// What may be opened as a model, and what comes with it.
#include "jobs/load_model.h"

#include "io/gguf/write_gguf.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LoadModel : public JobsTest {
 protected:
  static std::vector<std::string> inputs_of(const Graph& graph) {
    std::vector<std::string> labels;
    for (ValueId v : graph.inputs()) labels.push_back(graph.value(v).label);
    return labels;
  }
  void make_classifier() {
    bert.config["architectures"] = {"BertForSequenceClassification"};
    bert.config["id2label"] = {{"0", "no"}, {"1", "perhaps"}, {"2", "yes"}};
    bert.pools = false;
    bert.weights.push_back({"pooler.dense.weight", Tensor(DType::f32, {32, 32})});
    bert.weights.push_back({"pooler.dense.bias", Tensor(DType::f32, {32})});
    bert.weights.push_back({"classifier.weight", Tensor(DType::f32, {3, 32})});
    bert.weights.push_back({"classifier.bias", Tensor(DType::f32, {3})});
    std::filesystem::remove_all(model);
    bert.write(model);
  }
};

TEST_F(LoadModel, FoldersBringTheirTokenizerAndConfiguration) {
  const Model loaded = load_model(model);
  EXPECT_EQ(loaded.path, model);
  EXPECT_THAT(loaded.weight_files, ElementsAre(model + "/model.safetensors"));
  EXPECT_EQ(loaded.file_bytes, static_cast<int64_t>(std::filesystem::file_size(model + "/model.safetensors")));
  EXPECT_EQ(loaded.files.at("vocab.txt"), bert.vocabulary);
  EXPECT_EQ(parse_json(loaded.files.at("config.json"), "config.json"), bert.config);
  EXPECT_TRUE(loaded.unused.empty());
}

TEST_F(LoadModel, AGgufFileThatIsNoWholeDecoderIsRefused) {
  const std::string path = model + "/x.gguf";
  const NamedTensor norm{"norm.weight", Tensor(DType::f32, {4})};
  write_gguf(path, {&norm, 1}, {{"general.architecture", "llama"}});
  EXPECT_THAT(test::error_of([&] { load_model(path); }),
              HasSubstr("metadata of llama: key \"block_count\" is missing"));
}

// Case is a setting of vocab.txt alone: any other file says it itself.
TEST_F(LoadModel, CaseIsNotedOfAVocabularyAloneNotOfATokenizerJson) {
  EXPECT_TRUE(load_model(model).graph.metadata.contains("tokenizer.lowercase"));
  write_file(model + "/tokenizer.json", "{}");
  EXPECT_FALSE(load_model(model).graph.metadata.contains("tokenizer.lowercase"));
}

TEST_F(LoadModel, TheNameIsTheLastPartOfThePathHoweverItIsWritten) {
  for (const std::string& path : {model, model + "/", model + "//", model + "/.", folder / "other/../model"}) {
    std::filesystem::create_directories(folder / "other");
    EXPECT_EQ(load_model(path).name, "model") << path;
  }
  EXPECT_EQ(load_model(quantized("mxint8")).name, "mxint8.safetensors");
}

TEST_F(LoadModel, InputsAreThoseChosenInTheirOrder) {
  EXPECT_THAT(inputs_of(load_model(model).graph), ElementsAre("input_ids", "attention_mask"));
  EXPECT_THAT(inputs_of(load_model(model, {"input_ids"}).graph), ElementsAre("input_ids"));
  EXPECT_THAT(inputs_of(load_model(model, {"attention_mask", "input_ids"}).graph),
              ElementsAre("attention_mask", "input_ids"));
  EXPECT_THAT(error_of([&] { load_model(model, {"input_ids", "input_ids"}); }), HasSubstr("twice"));
  EXPECT_THAT(error_of([&] { load_model(model, {"input_ids", "labels"}); }), HasSubstr("\"labels\" is not an input"));
}

TEST_F(LoadModel, LabelsAddALossToAClassifierAndNothingElseDoes) {
  make_classifier();
  const Graph plain = load_model(model).graph,
              trained = load_model(model, {"input_ids", "attention_mask", "labels"}).graph;
  EXPECT_TRUE(plain.nodes("cross_entropy").empty());
  EXPECT_EQ(trained.nodes("cross_entropy").size(), 1u);
  EXPECT_EQ(to_string(plain.type(plain.outputs()[0].value)), "f32[B,3]");
  EXPECT_EQ(to_string(trained.type(trained.inputs()[2])), "i64[B]");
  EXPECT_EQ(trained.outputs().size(), plain.outputs().size() + 1);
}

TEST_F(LoadModel, TensorsThatNothingReadsAreListed) {
  bert.weights.push_back({"cls.predictions.bias", Tensor(DType::f32, {244})});
  bert.write(model);
  EXPECT_THAT(load_model(model).unused, ElementsAre("cls.predictions.bias"));
}

TEST_F(LoadModel, FilesRunAloneWithTheSameGraphAndFiles) {
  const Model source = load_model(model);
  save_model(folder / "copy.safetensors", source.graph, source);
  std::filesystem::remove_all(model);
  const Model copy = load_model(folder / "copy.safetensors");
  EXPECT_EQ(print(copy.graph), print(source.graph));
  EXPECT_EQ(copy.files, source.files);
  EXPECT_THAT(error_of([&] { load_model(folder / "copy.safetensors", {"input_ids"}); }), HasSubstr("inputs fixed"));
}

TEST_F(LoadModel, TheDigestIsOfTheWeights) {
  const std::string before = load_model(model).sha256();
  EXPECT_EQ(before.size(), 64u);
  EXPECT_EQ(load_model(model, {"input_ids"}).sha256(), before);
  bert.weight("embeddings.LayerNorm.bias").tensor.mutable_as<float>()[0] += 1;
  bert.write(model);
  EXPECT_NE(load_model(model).sha256(), before);
}

TEST_F(LoadModel, FoldersWithoutArchitectureOrWithAnUnknownOneAreRefused) {
  bert.config.erase("architectures");
  bert.write(model);
  EXPECT_THAT(error_of([&] { load_model(model); }), HasSubstr("\"architectures\" is missing"));
  for (const Json& value : {Json("BertModel"), Json(Json::array()), Json({3}), Json({"JukeboxModel"}), Json(nullptr)}) {
    bert.config["architectures"] = value;
    bert.write(model);
    EXPECT_THAT(error_of([&] { load_model(model); }),
                testing::AllOf(testing::StartsWith(model + "/config.json: "), HasSubstr("architecture")))
        << value;
  }
}

}  // namespace
}  // namespace hone
