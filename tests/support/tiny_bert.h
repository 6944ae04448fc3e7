// A whole Hugging Face folder of a sentence encoder with seeded weights, small enough to run in milliseconds: hidden
// 32, 2 heads, 2 layers, the vocabulary of tests/data/tokenizer. Tests damage the parts before they write them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/json.h"
#include "base/philox.h"
#include "io/safetensors.h"
#include "tests/support/paths.h"

namespace hone {

struct TinyBertFolder {
  Json config;
  std::vector<NamedTensor> weights;
  std::string vocabulary;  // vocab.txt; "" for no tokenizer
  bool pools = true;       // modules.json and 1_Pooling: a sentence encoder, not a plain BertModel

  NamedTensor& weight(const std::string& name) {
    for (NamedTensor& w : weights)
      if (w.name == name) return w;
    throw Bug("no such weight: " + name);
  }

  void write(const std::string& path) const {
    std::filesystem::create_directories(path);
    write_file(path + "/config.json", config.dump(1));
    write_safetensors(path + "/model.safetensors", weights);
    if (!vocabulary.empty()) write_file(path + "/vocab.txt", vocabulary);
    if (!pools) return;
    write_file(path + "/modules.json",
               R"([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
 {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
 {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])");
    std::filesystem::create_directories(path + "/1_Pooling");
    write_file(path + "/1_Pooling/config.json",
               R"({"word_embedding_dimension": 32, "pooling_mode_mean_tokens": true})");
  }
};

inline TinyBertFolder tiny_bert(uint64_t seed = 1) {
  constexpr int64_t kWords = 244, kHidden = 32, kInner = 64, kPositions = 64, kLayers = 2;
  TinyBertFolder bert;
  bert.config = {
      {"architectures", {"BertModel"}}, {"model_type", "bert"},        {"hidden_act", "gelu"},
      {"vocab_size", kWords},           {"hidden_size", kHidden},      {"num_hidden_layers", kLayers},
      {"num_attention_heads", 2},       {"intermediate_size", kInner}, {"max_position_embeddings", kPositions},
      {"type_vocab_size", 2},           {"layer_norm_eps", 1e-12}};
  bert.vocabulary = read_file(std::string(test::kTestData) + "/tokenizer/vocab.txt");
  Philox random(seed);
  const auto add = [&](const std::string& name, std::vector<int64_t> shape, float mean, float spread) {
    std::vector<float> values(static_cast<size_t>(element_count(shape)));
    for (float& v : values) v = mean + spread * random.normal();
    bert.weights.push_back({name, Tensor::of<float>(shape, values)});
  };
  // Spread 1 / sqrt(inputs) keeps the scale of activations from layer to layer.
  const auto add_linear = [&](const std::string& name, int64_t outputs, int64_t inputs) {
    add(name + ".weight", {outputs, inputs}, 0, 1 / std::sqrt(static_cast<float>(inputs)));
    add(name + ".bias", {outputs}, 0, 0.1f);
  };
  const auto add_norm = [&](const std::string& name) {
    add(name + ".weight", {kHidden}, 1, 0.1f);
    add(name + ".bias", {kHidden}, 0, 0.1f);
  };
  add("embeddings.word_embeddings.weight", {kWords, kHidden}, 0, 1);
  add("embeddings.position_embeddings.weight", {kPositions, kHidden}, 0, 0.3f);
  add("embeddings.token_type_embeddings.weight", {2, kHidden}, 0, 0.3f);
  add_norm("embeddings.LayerNorm");
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const std::string at = "encoder.layer." + std::to_string(layer) + ".";
    for (const char* part : {"query", "key", "value"}) add_linear(at + "attention.self." + part, kHidden, kHidden);
    add_linear(at + "attention.output.dense", kHidden, kHidden);
    add_norm(at + "attention.output.LayerNorm");
    add_linear(at + "intermediate.dense", kInner, kHidden);
    add_linear(at + "output.dense", kHidden, kInner);
    add_norm(at + "output.LayerNorm");
  }
  return bert;
}

}  // namespace hone
