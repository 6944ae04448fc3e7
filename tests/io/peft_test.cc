// PEFT's adapters: every key of its configuration is followed, changes nothing, or is refused by name; and tensors are
// the model's, under whatever names PEFT's wrappers give them.
#include "io/peft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/json.h"
#include "tests/io/temporary_folder.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

Tensor ones(std::vector<int64_t> shape) {
  Tensor tensor(DType::f32, std::move(shape));
  std::ranges::fill(tensor.mutable_as<float>(), 1.0f);
  return tensor;
}

std::vector<NamedTensor> one_adapter() {
  return {{"base_model.model.bert.query.lora_A.weight", ones({2, 4})},
          {"base_model.model.bert.query.lora_B.weight", ones({4, 2})}};
}

// The file that PEFT 0.21 writes, all keys at their defaults but for what it must say.
Json usual_config() {
  return parse_json(R"({
    "alora_invocation_tokens": null, "alpha_pattern": {}, "arrow_config": null, "auto_mapping": null,
    "base_model_name_or_path": "m", "bias": "none", "corda_config": null, "ensure_weight_tying": false,
    "eva_config": null, "exclude_modules": null, "fan_in_fan_out": false, "inference_mode": true,
    "init_lora_weights": true, "kasa_config": null, "layer_replication": null, "layers_pattern": null,
    "layers_to_transform": null, "loftq_config": {}, "lora_alpha": 4, "lora_bias": false, "lora_dropout": 0.0,
    "lora_ga_config": null, "megatron_config": null, "megatron_core": "megatron.core", "modules_to_save": null,
    "monteclora_config": null, "peft_type": "LORA", "peft_version": "0.21.2", "qalora_group_size": 16, "r": 2,
    "rank_pattern": {}, "revision": null, "target_modules": ["query"], "target_parameters": null,
    "task_type": "SEQ_CLS", "trainable_token_indices": null, "use_bdlora": null, "use_dora": false,
    "use_qalora": false, "use_rslora": false, "velora_config": null})",
                    "usual");
}

struct Folder {
  TemporaryFolder files;

  PeftAdapters read(const Json& config, const std::vector<NamedTensor>& tensors = one_adapter()) const {
    files.put("adapter_config.json", config.dump());
    write_safetensors(files / "adapter_model.safetensors", tensors);
    return read_peft(files.path());
  }
  std::string error(const char* key, const Json& value) const {
    Json config = usual_config();
    config[key] = value;
    return error_of([&] { read(config); });
  }
};

std::vector<std::string> names(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> all;
  for (const NamedTensor& tensor : tensors) all.push_back(tensor.name);
  return all;
}

TEST(Peft, KeysThatChangeWhatAdaptersComputeAreRefusedByName) {
  const Folder folder;
  EXPECT_EQ(folder.read(usual_config()).adapters.size(), 1);
  for (const auto& [key, value] : std::vector<std::pair<const char*, Json>>{{"alora_invocation_tokens", {1, 2}},
                                                                            {"arrow_config", {{"top_k", 2}}},
                                                                            {"corda_config", {{"a", 1}}},
                                                                            {"ensure_weight_tying", true},
                                                                            {"fan_in_fan_out", true},
                                                                            {"init_lora_weights", "pissa"},
                                                                            {"init_lora_weights", "pissa_niter_4"},
                                                                            {"init_lora_weights", "olora"},
                                                                            {"init_lora_weights", "loftq"},
                                                                            {"init_lora_weights", "corda"},
                                                                            {"kasa_config", {{"a", 1}}},
                                                                            {"layer_replication", {{0, 4}, {2, 5}}},
                                                                            {"loftq_config", {{"loftq_bits", 4}}},
                                                                            {"lora_bias", true},
                                                                            {"lora_ga_config", {{"a", 1}}},
                                                                            {"megatron_config", {{"a", 1}}},
                                                                            {"monteclora_config", {{"a", 1}}},
                                                                            {"target_parameters", {"w"}},
                                                                            {"trainable_token_indices", {3}},
                                                                            {"use_bdlora", {{"a", 1}}},
                                                                            {"use_qalora", true},
                                                                            {"velora_config", {{"a", 1}}},
                                                                            {"bias", "some"},
                                                                            {"a_key_of_tomorrow", 1}})
    EXPECT_THAT(folder.error(key, value), HasSubstr(std::string("\"") + key + "\"")) << value.dump();
}

TEST(Peft, KeysThatTensorsStateOrThatChangeNothingPass) {
  const Folder folder;
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, Json>>{{"init_lora_weights", false},
                                                 {"init_lora_weights", "gaussian"},
                                                 {"layers_to_transform", {0}},
                                                 {"layers_pattern", "layer"},
                                                 {"exclude_modules", {"key"}},
                                                 {"rank_pattern", {{"query", 2}}},
                                                 {"revision", "main"},
                                                 {"runtime_config", {{"ephemeral_gpu_offload", true}}},
                                                 {"task_type", nullptr},
                                                 {"a_key_of_tomorrow", nullptr}})
    EXPECT_EQ(folder.error(key, value), "") << key;
}

TEST(Peft, TrainedBiasesGoWithTheAdaptersAndWholeModulesByThemselves) {
  const Folder folder;
  Json config = usual_config();
  config["bias"] = "all";
  config["modules_to_save"] = {"classifier", "score"};
  std::vector<NamedTensor> tensors = one_adapter();
  for (const char* name : {"bert.query.base_layer.bias", "bert.LayerNorm.bias", "classifier.bias",
                           "classifier.modules_to_save.bias", "classifier.weight"})
    tensors.push_back({std::string("base_model.model.") + name, ones({4})});
  tensors.push_back({"base_model.model.classifier.original_module.bias", Tensor(DType::f32, {4})});
  const PeftAdapters read = folder.read(config, tensors);
  EXPECT_THAT(names(read.biases), UnorderedElementsAre("bert.query.bias", "bert.LayerNorm.bias"));
  EXPECT_THAT(names(read.saved), UnorderedElementsAre("classifier.bias", "classifier.weight"));
}

TEST(Peft, WritesBiasesUnderTheNamesOfItsWrappers) {
  const TemporaryFolder folder;
  PeftAdapters adapters = Folder().read(usual_config());
  const auto written = [&](const char* name) {
    write_peft(folder / name, adapters);
    return parse_json(read_file(folder / name + "/adapter_config.json"), name)["bias"].get<std::string>();
  };
  EXPECT_EQ(written("none"), "none");
  adapters.biases = {{"bert.query.bias", ones({4})}};
  EXPECT_EQ(written("lora_only"), "lora_only");
  const SafetensorsFile file(folder / "lora_only/adapter_model.safetensors");
  EXPECT_NE(file.find("base_model.model.bert.query.base_layer.bias"), nullptr);
  adapters.biases.push_back({"bert.key.bias", ones({4})});
  EXPECT_EQ(written("all"), "all");
  EXPECT_THAT(names(read_peft(folder / "all").biases), UnorderedElementsAre("bert.query.bias", "bert.key.bias"));
}

TEST(Peft, AModuleWithAnAdapterIsNotTrainedWholeAsWell) {
  const TemporaryFolder folder;
  PeftAdapters adapters = Folder().read(usual_config());
  adapters.saved = {{"bert.query.weight", ones({4, 4})}};
  EXPECT_THAT(error_of([&] { write_peft(folder / "both", adapters); }), HasSubstr("bert.query was trained whole"));
}

}  // namespace
}  // namespace hone
