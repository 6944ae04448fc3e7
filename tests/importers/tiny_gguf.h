// A small decoder as a folder's graph and as a GGUF file of the same weights.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "io/gguf/write_gguf.h"
#include "ir/packer.h"
#include "models/find_model.h"
#include "models/random_weights.h"

namespace hone::test {

struct TinyDecoder {
  std::string architecture = "llama";
  int64_t hidden = 32, layers = 4;
  std::string format = "fp32";  // of matrices; of those with rows of whole blocks of 256 where hidden is that
  Json config = {};             // further keys
  GgufSettings settings = {};   // likewise
  std::vector<NamedTensor> tensors = {};

  Json whole_config() const {
    const std::map<std::string, const char*> models{{"llama", "LlamaForCausalLM"},   {"qwen2", "Qwen2ForCausalLM"},
                                                    {"qwen3", "Qwen3ForCausalLM"},   {"smollm3", "SmolLM3ForCausalLM"},
                                                    {"gemma2", "Gemma2ForCausalLM"}, {"gemma3", "Gemma3ForCausalLM"}};
    Json whole{{"architectures", {models.at(architecture)}},
               {"vocab_size", 24},
               {"hidden_size", hidden},
               {"num_hidden_layers", layers},
               {"num_attention_heads", 4},
               {"num_key_value_heads", 2},
               {"head_dim", 8},
               {"intermediate_size", 2 * hidden},
               {"max_position_embeddings", 16},
               {"rms_norm_eps", 0x1p-17},
               {"rope_theta", 10000.0},
               {"tie_word_embeddings", false}};
    whole.update(config.is_null() ? Json::object() : config);
    return whole;
  }

  Tensor stored(const Tensor& plain) const {
    if (plain.shape().size() < 2 || format == "fp32" || (hidden == 256 && plain.dim(1) % 256 != 0)) return plain;
    if (format == "bf16") return plain.converted(DType::bf16);
    return Packer().pack(parse_format(format), plain);
  }

  Graph graph() const {
    const Json whole = whole_config();
    const WeightSource random = random_weights(5);
    return model_for(whole, "config.json")
        .build({.config = whole,
                .source = "config.json",
                .inputs = {},
                .pooling = {},
                .weights = [&](const std::string& name, const std::vector<int64_t>& shape) {
                  return stored(random(name, shape));
                }});
  }

  GgufSettings whole_settings() const {
    const auto size = static_cast<uint32_t>(hidden);
    const std::string a = architecture + ".";
    GgufSettings whole{{"general.architecture", architecture},       {a + "block_count", static_cast<uint32_t>(layers)},
                       {a + "context_length", uint32_t{16}},         {a + "embedding_length", size},
                       {a + "feed_forward_length", 2 * size},        {a + "attention.head_count", uint32_t{4}},
                       {a + "attention.head_count_kv", uint32_t{2}}, {a + "attention.key_length", uint32_t{8}},
                       {a + "attention.value_length", uint32_t{8}},  {a + "attention.layer_norm_rms_epsilon", 0x1p-17f},
                       {a + "rope.dimension_count", uint32_t{8}},    {a + "rope.freq_base", 10000.f}};
    for (const auto& [key, value] : settings) whole[key] = value;
    return whole;
  }

  // As the converter of llama.cpp names them; of queries and keys it lets the halves of a head alternate.
  std::vector<NamedTensor> stored_tensors() const {
    std::vector<NamedTensor> all = tensors;
    const WeightSource random = random_weights(5);
    const Graph folder = graph();
    for (ValueId id : folder.constants()) {
      const std::string& label = folder.value(id).label;
      if (!label.starts_with("model.") && !label.starts_with("lm_head")) continue;
      const std::vector<int64_t> shape = constant_shape(folder.type(id).shape);
      Tensor plain = random(label, shape);
      const bool of_heads = label.find("q_proj") != std::string::npos || label.find("k_proj") != std::string::npos;
      if (of_heads && (architecture == "llama" || architecture == "smollm3")) plain = alternating(plain);
      all.push_back({gguf_name(label), stored(plain)});
    }
    return all;
  }

  std::string write(const std::string& path) const {
    write_gguf(path, stored_tensors(), whole_settings());
    return path;
  }

  static Tensor alternating(const Tensor& x) {
    Tensor moved(DType::f32, x.shape());
    const std::span<const float> from = x.as<float>();
    const std::span<float> to = moved.mutable_as<float>();
    const size_t rows = static_cast<size_t>(x.dim(0)), columns = from.size() / rows;
    for (size_t row = 0; row < rows; ++row) {  // row 2 i + j of eight is row i of half j
      const size_t source = row / 8 * 8 + row % 2 * 4 + row % 8 / 2;
      std::copy_n(from.begin() + static_cast<ptrdiff_t>(source * columns), columns,
                  to.begin() + static_cast<ptrdiff_t>(row * columns));
    }
    return moved;
  }

  bool is_gemma() const { return architecture.starts_with("gemma"); }

  std::string gguf_name(std::string name) const {
    const std::pair<const char*, const char*> names[] = {
        {"model.layers.", "blk."},
        {"input_layernorm", "attn_norm"},
        {"post_attention_layernorm", is_gemma() ? "post_attention_norm" : "ffn_norm"},
        {"pre_feedforward_layernorm", "ffn_norm"},
        {"post_feedforward_layernorm", "post_ffw_norm"},
        {"self_attn.q_proj", "attn_q"},
        {"self_attn.k_proj", "attn_k"},
        {"self_attn.v_proj", "attn_v"},
        {"self_attn.o_proj", "attn_output"},
        {"self_attn.q_norm", "attn_q_norm"},
        {"self_attn.k_norm", "attn_k_norm"},
        {"mlp.gate_proj", "ffn_gate"},
        {"mlp.up_proj", "ffn_up"},
        {"mlp.down_proj", "ffn_down"},
        {"model.embed_tokens", "token_embd"},
        {"model.norm", "output_norm"},
        {"lm_head", "output"}};
    for (const auto& [folder, gguf] : names)
      if (const size_t at = name.find(folder); at != std::string::npos)
        name.replace(at, std::string_view(folder).size(), gguf);
    return name;
  }
};

}  // namespace hone::test
