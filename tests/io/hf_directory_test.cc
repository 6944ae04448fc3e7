// Hugging Face folders: what is read, and one clear answer for each way in which a folder can be wrong.
#include "io/hf_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/io/temporary_folder.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kConfig = R"({"model_type": "bert", "hidden_size": 2})";

void put_weights(const TemporaryFolder& folder, const std::vector<NamedTensor>& tensors,
                 const char* name = "model.safetensors") {
  write_safetensors(folder / name, tensors);
}

std::vector<NamedTensor> two_tensors() {
  return {{"a.weight", Tensor::of<float>({2}, {1, 2})}, {"b.weight", Tensor::of<float>({1, 2}, {3, 4})}};
}

std::string open_error(const TemporaryFolder& folder) {
  return error_of([&] { HfDirectory directory(folder.path()); });
}

TEST(HfDirectory, ReadsAModel) {
  const TemporaryFolder folder;
  folder.put("config.json", kConfig);
  put_weights(folder, two_tensors());
  HfDirectory directory(folder.path());
  EXPECT_EQ(directory.config()["hidden_size"], 2);
  EXPECT_FALSE(directory.is_sentence_encoder());
  EXPECT_THAT(directory.weight_source()("a.weight", {2}).as<float>(), ElementsAre(1, 2));
  directory.weights().check_complete();
  EXPECT_THAT(directory.weights().unused(), ElementsAre("b.weight"));
}

TEST(HfDirectory, DoublesAreReadAsFloats) {
  const TemporaryFolder folder;
  folder.put("config.json", kConfig);
  put_weights(folder, {{"a.weight", Tensor::of<double>({2}, {0.1, 2})}});
  HfDirectory directory(folder.path());
  EXPECT_THAT(directory.weight_source()("a.weight", {2}).as<float>(), ElementsAre(0.1f, 2));
}

TEST(HfDirectory, ReadsASentenceEncoderAndItsTokenizer) {
  const TemporaryFolder folder;
  folder.put("config.json", kConfig);
  folder.put("modules.json", R"([{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
                                 {"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
                                 {"idx":2,"name":"2","path":"2_Normalize","type":"sentence_transformers.models.Normalize"}])");
  folder.put("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  folder.put("tokenizer.json", "{}");
  folder.put("tokenizer_config.json", R"({"do_lower_case": false, "model_max_length": 512})");
  folder.put("sentence_bert_config.json", R"({"max_seq_length": 256})");
  put_weights(folder, two_tensors());
  HfDirectory directory(folder.path());
  EXPECT_TRUE(directory.is_sentence_encoder() && directory.normalise());
  EXPECT_EQ(directory.pooling()["pooling_mode_mean_tokens"], true);
  EXPECT_EQ(directory.tokenizer().vocabulary, (std::map<std::string, std::string>{{"tokenizer.json", "{}"}}));
  EXPECT_FALSE(directory.tokenizer().lowercase);
  EXPECT_EQ(directory.tokenizer().max_length, 256);
}

TEST(HfDirectory, UnlimitedLengthIsNotALength) {
  const TemporaryFolder folder;
  folder.put("config.json", kConfig);
  folder.put("tokenizer_config.json", R"({"model_max_length": 1000000000000000019884624838656})");
  put_weights(folder, two_tensors());
  EXPECT_EQ(HfDirectory(folder.path()).tokenizer().max_length, 0);
}

TEST(HfDirectory, ShardsAreOneModel) {
  const TemporaryFolder folder;
  folder.put("config.json", kConfig);
  folder.put(
      "model.safetensors.index.json",
      R"({"metadata":{"total_size":16},"weight_map":{"a.weight":"m-1.safetensors","b.weight":"m-2.safetensors"}})");
  put_weights(folder, {two_tensors()[0]}, "m-1.safetensors");
  put_weights(folder, {two_tensors()[1]}, "m-2.safetensors");
  HfDirectory directory(folder.path());
  EXPECT_THAT(directory.weights().names(), ElementsAre("a.weight", "b.weight"));
  EXPECT_THAT(directory.weights().tensor("b.weight", {1, 2}).as<float>(), ElementsAre(3, 4));
}

TEST(HfDirectory, ShardNamesStayInTheFolder) {
  for (const char* name : {"../m.safetensors", "/etc/passwd", "sub/m.safetensors", ".."}) {
    const TemporaryFolder folder;
    folder.put("config.json", kConfig);
    folder.put("model.safetensors.index.json", fmt::format(R"({{"weight_map":{{"a":"{}"}}}})", name));
    EXPECT_THAT(open_error(folder), HasSubstr("without / or ..")) << name;
  }
}

TEST(HfDirectory, BadShardsAreNamed) {
  const TemporaryFolder folder;
  folder.put("config.json", kConfig);
  put_weights(folder, {two_tensors()[0]}, "m-1.safetensors");
  put_weights(folder, {two_tensors()[0]}, "m-2.safetensors");
  const auto error = [&](const char* index) {
    folder.put("model.safetensors.index.json", index);
    return open_error(folder);
  };
  EXPECT_THAT(error(R"({"weight_map":{"a.weight":"m-1.safetensors","x":"m-1.safetensors"}})"),
              HasSubstr("lists \"x\""));
  EXPECT_THAT(error(R"({"weight_map":{"a.weight":"m-1.safetensors","x":"m-2.safetensors"}})"),
              HasSubstr("\"a.weight\" is also in"));
  EXPECT_THAT(error(R"({"weight_map":{"a.weight":"m-3.safetensors"}})"), HasSubstr("m-3.safetensors"));
  EXPECT_THAT(error(R"({"weight_map":{"a.weight":3}})"), HasSubstr("expected a file name"));
  EXPECT_THAT(error(R"({"weight_map":[]})"), HasSubstr("expected an object"));
  EXPECT_THAT(error("{}"), HasSubstr("\"weight_map\" is missing"));
}

TEST(HfDirectory, AllWrongTensorsAreListedAtOnce) {
  const TemporaryFolder folder;
  folder.put("config.json", kConfig);
  put_weights(folder, two_tensors());
  HfDirectory directory(folder.path());
  EXPECT_EQ(directory.weights().tensor("a.weight", {3}).shape(), (std::vector<int64_t>{3}));
  directory.weights().tensor("b.wieght", {1, 2});
  EXPECT_THAT(error_of([&] { directory.weights().check_complete(); }),
              AllOf(HasSubstr(folder.path()), HasSubstr("\"a.weight\" is [2]; the configuration asks for [3]"),
                    HasSubstr("\"b.wieght\" [1,2] is missing"), HasSubstr("b.weight")));
}

TEST(HfDirectory, AbsurdSizesAreNotAllocated) {
  const TemporaryFolder folder;
  folder.put("config.json", kConfig);
  put_weights(folder, two_tensors());
  HfDirectory directory(folder.path());
  EXPECT_THAT(error_of([&] { directory.weights().tensor("a.weight", {1 << 30, 1 << 30}); }), HasSubstr("a.weight"));
}

TEST(HfDirectory, OldSpellingsAreFound) {
  const TemporaryFolder folder;
  folder.put("config.json", kConfig);
  const Tensor t(DType::f32, {2});
  put_weights(folder, {{"bert.x.LayerNorm.gamma", t}, {"bert.x.LayerNorm.beta", t}, {"y", t}});
  HfDirectory directory(folder.path());
  for (const char* name : {"x.LayerNorm.weight", "bert.x.LayerNorm.bias", "bert.y"})
    directory.weights().tensor(name, {2});
  directory.weights().check_complete();
  EXPECT_TRUE(directory.weights().unused().empty());
}

TEST(HfDirectory, FoldersThatAreNoModelsAreRefused) {
  const TemporaryFolder folder;
  EXPECT_THAT(open_error(folder), HasSubstr("has no config.json"));
  EXPECT_THAT(error_of([&] { HfDirectory directory(folder / "absent"); }), HasSubstr("no such file or folder"));
  folder.put("config.json", kConfig);
  EXPECT_THAT(error_of([&] { HfDirectory directory(folder / "config.json"); }), HasSubstr("not a folder"));
  EXPECT_THAT(open_error(folder), HasSubstr("has no weights; expected model.safetensors"));
  folder.put("config.json", "[1]");
  EXPECT_THAT(open_error(folder), HasSubstr("expected an object"));
  folder.put("config.json", "{");
  EXPECT_THAT(open_error(folder), HasSubstr("config.json: not valid JSON"));
}

TEST(HfDirectory, PicklesAreRefusedWithTheWayToConvertThem) {
  for (const char* name : {"pytorch_model.bin", "model.pt", "x.pkl"}) {
    const TemporaryFolder folder;
    folder.put("config.json", kConfig);
    folder.put(name, "\x80\x02");
    EXPECT_THAT(open_error(folder),
                AllOf(HasSubstr(name), HasSubstr("python -c"), HasSubstr("save_file"), HasSubstr("weights_only=True")));
    EXPECT_NE(error_of([&] { refuse_pickle(folder / name); }), "");
  }
  refuse_pickle("model.safetensors");
}

TEST(HfDirectory, OtherModulesAndPathsAreRefused) {
  const TemporaryFolder folder;
  folder.put("config.json", kConfig);
  put_weights(folder, two_tensors());
  const auto error = [&](const char* modules) {
    folder.put("modules.json", modules);
    return open_error(folder);
  };
  EXPECT_THAT(error(R"([{"path":"2_Dense","type":"sentence_transformers.models.Dense"}])"),
              HasSubstr("supported: Transformer, Pooling"));
  EXPECT_THAT(error(R"([{"path":"../x","type":"a.Pooling"}])"), HasSubstr("leads out of"));
  EXPECT_THAT(error(R"([{"path":"1_Pooling","type":"a.Pooling"}])"), HasSubstr("1_Pooling"));
  EXPECT_THAT(error(R"([{"path":"0_T","type":"a.Transformer"}])"), HasSubstr("0_T"));
  EXPECT_THAT(error("{}"), HasSubstr("expected a list"));
}

TEST(HfDirectory, AShardThatEndsEarlyOrHoldsAnotherTensorIsNamed) {
  const TemporaryFolder folder;
  folder.put("config.json", kConfig);
  put_weights(folder, {two_tensors()[0]}, "m-1.safetensors");
  put_weights(folder, {two_tensors()[1]}, "m-2.safetensors");
  folder.put("model.safetensors.index.json",
             R"({"weight_map":{"a.weight":"m-2.safetensors","b.weight":"m-1.safetensors"}})");
  EXPECT_THAT(open_error(folder), HasSubstr("which m-2.safetensors does not hold"));
  folder.put("model.safetensors.index.json",
             R"({"weight_map":{"a.weight":"m-1.safetensors","b.weight":"m-2.safetensors"}})");
  std::filesystem::resize_file(folder / "m-2.safetensors", std::filesystem::file_size(folder / "m-2.safetensors") - 4);
  EXPECT_THAT(open_error(folder), HasSubstr("m-2.safetensors"));
  std::filesystem::remove(folder / "m-2.safetensors");
  EXPECT_THAT(open_error(folder), AllOf(HasSubstr("index.json"), HasSubstr("m-2.safetensors, which is not there")));
}

TEST(HfDirectory, AWrongShapeNamesTheKeysThatAskForIt) {
  const TemporaryFolder folder;
  folder.put("config.json", R"({"model_type": "bert", "hidden_size": 5, "id2label": {"0": "a", "1": "b", "2": "c"}})");
  put_weights(folder, two_tensors());
  HfDirectory directory(folder.path());
  directory.weights().tensor("b.weight", {3, 5});
  EXPECT_THAT(error_of([&] { directory.weights().check_complete(); }),
              HasSubstr("\"b.weight\" is [1,2]; the configuration asks for [3,5] (3: id2label; 5: hidden_size)"));
}

TEST(HfDirectory, CodeOfTheFolderIsRefusedWithTheReason) {
  const TemporaryFolder folder;
  folder.put("config.json", R"({"model_type": "bert", "auto_map": {"AutoModel": "modeling_own.OwnModel"}})");
  put_weights(folder, two_tensors());
  EXPECT_THAT(open_error(folder), AllOf(HasSubstr("config.json"), HasSubstr("modeling_own.OwnModel"),
                                        HasSubstr("trust_remote_code"), HasSubstr("optimum-cli export onnx")));
  folder.put("config.json", R"({"model_type": "bert", "auto_map": {}})");
  EXPECT_EQ(open_error(folder), "");
}

TEST(HfDirectory, AdaptersWithoutAModelNameTheCommand) {
  const TemporaryFolder folder;
  folder.put("adapter_config.json", R"({"base_model_name_or_path": "some/base"})");
  EXPECT_THAT(open_error(folder), AllOf(HasSubstr("some/base"), HasSubstr("hone lora import MODEL --adapter")));
}

TEST(HfDirectory, PromptsAreRead) {
  const TemporaryFolder folder;
  folder.put("config.json", kConfig);
  put_weights(folder, two_tensors());
  folder.put("config_sentence_transformers.json",
             R"({"prompts": {"query": "query: ", "document": ""}, "default_prompt_name": "query"})");
  HfDirectory directory(folder.path());
  EXPECT_EQ(directory.prompts().size(), 2u);
  EXPECT_EQ(directory.default_prompt(), "query: ");
}

// One may be missing for each of a million layers.
TEST(HfDirectory, ManyWrongTensorsEndTheSearch) {
  const TemporaryFolder folder;
  folder.put("config.json", kConfig);
  put_weights(folder, two_tensors());
  HfDirectory directory(folder.path());
  const auto ask_for_ever = [&] {
    for (int i = 0;; ++i) directory.weights().tensor("layer." + std::to_string(i), {1});
  };
  EXPECT_THAT(error_of(ask_for_ever), HasSubstr("layer.99"));
}

TEST(HfDirectory, FilesOfOtherContentAreNamed) {
  const TemporaryFolder folder;
  put_weights(folder, two_tensors());
  for (const auto& [name, content] : {std::pair{"config.json", R"({"quantization_config": 3})"},
                                      {"tokenizer_config.json", "[1]"},
                                      {"sentence_bert_config.json", "7"},
                                      {"config_sentence_transformers.json", "[1]"},
                                      {"config_sentence_transformers.json", R"({"prompts": {"query": 3}})"},
                                      {"config_sentence_transformers.json", R"({"default_prompt_name": "query"})"},
                                      {"modules.json", R"([{"type": "x.Pooling", "path": "../elsewhere"}])"},
                                      {"modules.json", R"([{"type": "x.Pooling", "path": "/etc"}])"}}) {
    folder.put("config.json", kConfig);
    folder.put(name, content);
    EXPECT_THAT(open_error(folder), HasSubstr(name)) << content;
    std::filesystem::remove(folder / name);
  }
}

}  // namespace
}  // namespace hone
