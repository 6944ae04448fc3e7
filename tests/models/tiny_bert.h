// A BERT with random weights small enough to recompute by hand-written loops in double.
#pragma once

#include <map>
#include <string>

#include "base/philox.h"
#include "models/registry.h"

namespace hone {

struct TinyBert {
  Json config =
      parse_json(R"({"architectures": ["BertModel"], "vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 6, "type_vocab_size": 2,
    "hidden_act": "gelu", "layer_norm_eps": 1e-3})",
                 "config.json");
  std::map<std::string, Tensor> made;  // weights by name, as they were asked for
  std::vector<std::string> inputs;
  Json pooling;
  bool normalise = false, has_pooler = false;
  Philox rng{42};

  Graph build() {
    ModelRequest request{
        .config = config,
        .source = "config.json",
        .inputs = inputs,
        .pooling = pooling,
        .normalise = normalise,
        .weights = [this](const std::string& name, const std::vector<int64_t>& shape) { return weight(name, shape); },
        .has_weight = [this](const std::string& name) { return has_pooler && name.starts_with("pooler."); }};
    for (const ModelDef* def : models::all())
      if (std::string_view(def->name) == "bert") return def->build(request);
    throw Bug("no builder is called bert");
  }

  Tensor weight(const std::string& name, const std::vector<int64_t>& shape) {
    std::vector<float> values(static_cast<size_t>(element_count(shape)));
    for (float& value : values) value = rng.uniform(-1, 1);
    return made[name] = Tensor::of<float>(shape, values);
  }
};

}  // namespace hone
