// The DeBERTa builders: values against loops written out in double, and what they refuse.
// bench/peers/compare_deberta.py compares them with Hugging Face's own code.
#include <gtest/gtest.h>

#include <cmath>

#include "models/find_model.h"
#include "models/random_weights.h"
#include "ops/evaluate.h"
#include "tests/models/direct_encoder.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using test::expect_near;
using test::Matrix;
using test::tokens;

constexpr int64_t kSpan = 4;

struct TinyDeberta {
  Json config = parse_json(
      R"({"vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 12,
          "max_position_embeddings": 16, "max_relative_positions": 4, "type_vocab_size": 0, "relative_attention": true,
          "pos_att_type": "c2p|p2c", "position_biased_input": false, "layer_norm_eps": 1e-3})",
      "config.json");
  std::map<std::string, Tensor> made;
  std::vector<std::string> inputs;

  explicit TinyDeberta(const char* architecture) { config["architectures"] = {architecture}; }

  Graph build() {
    const WeightSource random = random_weights(7);
    return model_for(config, "config.json")
        .build({.config = config,
                .source = "config.json",
                .inputs = inputs,
                .pooling = {},
                .weights = [&](const std::string& name, const std::vector<int64_t>& shape) {
                  return made[name] = random(name, shape);
                }});
  }
};

// `second`: v2's names of the same things.
class DirectDeberta : public test::DirectEncoder {
 public:
  DirectDeberta(const std::map<std::string, Tensor>& weights, bool second) : DirectEncoder(weights), second_(second) {}

  Matrix encode(const std::vector<int64_t>& ids, const std::vector<int64_t>& mask) const {
    Matrix x;
    for (int64_t id : ids) x.push_back(row("embeddings.word_embeddings.weight", static_cast<size_t>(id)));
    x = norm(x, "embeddings.LayerNorm");
    for (size_t s = 0; s < x.size(); ++s)
      for (double& v : x[s]) v *= static_cast<double>(mask[s]);
    return rest_of_layer(attend(x, mask, "encoder.layer.0.attention.self."), x, 12);
  }

 private:
  // Query 0, key 1 or value 2 of each token, heads side by side.
  Matrix projected(const Matrix& x, const std::string& at, size_t part) const {
    constexpr const char* kNames[] = {"query_proj", "key_proj", "value_proj"};
    if (second_) return dense(x, at + kNames[part], kHidden);
    const Matrix all = dense(x, at + "in_proj", 3 * kHidden);
    Matrix y;
    for (const auto& row : all) {
      y.emplace_back();
      for (size_t h = 0; h < kHeads; ++h)
        for (size_t c = 0; c < kColumns; ++c) {
          const double bias = part == 1 ? 0 : weight(at + (part == 0 ? "q_bias" : "v_bias"))[h * kColumns + c];
          y.back().push_back(row[(h * 3 + part) * kColumns + c] + bias);
        }
    }
    return y;
  }

  Matrix attend(const Matrix& x, const std::vector<int64_t>& mask, const std::string& at) const {
    const Matrix q = projected(x, at, 0), k = projected(x, at, 1), v = projected(x, at, 2);
    Matrix table;
    for (int64_t entry = 0; entry < 2 * kSpan; ++entry)
      table.push_back(row("encoder.rel_embeddings.weight", static_cast<size_t>(entry)));
    const Matrix keys = dense(table, at + (second_ ? "pos_key_proj" : "pos_proj"), kHidden);
    const Matrix queries = dense(table, at + (second_ ? "pos_query_proj" : "pos_q_proj"), kHidden);
    return mix(v, [&](size_t head, size_t i, size_t j) {
      if (!mask[i]) return 1.0;  // a token that does not count sees all alike
      if (!mask[j]) return 0.0;
      const int64_t distance = static_cast<int64_t>(i) - static_cast<int64_t>(j);
      const auto entry = static_cast<size_t>(std::clamp<int64_t>(distance + kSpan, 0, 2 * kSpan - 1));
      const double score =
          product(q[i], k[j], head) + product(q[i], keys[entry], head) + product(k[j], queries[entry], head);
      return std::exp(score / std::sqrt(3.0 * kColumns));
    });
  }

  bool second_;
};

const std::vector<int64_t> kIds{3, 1, 4, 10, 5, 9, 2}, kMask{1, 1, 1, 1, 1, 1, 0};

// Weights and activations are below 10; some dozens of f32 roundings at that size.
constexpr double kBound = 10 * 40 * 0x1p-24;

TEST(Deberta, EncodesAsTheFormulasSay) {
  for (const char* architecture : {"DebertaModel", "DebertaV2Model"}) {
    SCOPED_TRACE(architecture);
    TinyDeberta model(architecture);
    const Graph graph = model.build();
    verify(graph);
    const std::vector<Tensor> outputs =
        evaluate(graph, {{"input_ids", tokens(kIds)}, {"attention_mask", tokens(kMask)}});
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(graph.outputs()[0].label, "last_hidden_state");
    const DirectDeberta direct(model.made, architecture == std::string("DebertaV2Model"));
    expect_near(outputs[0], direct.encode(kIds, kMask), kBound);
  }
}

TEST(Deberta, AClassifierPoolsTheFirstToken) {
  TinyDeberta model("DebertaV2ForSequenceClassification");
  model.config["num_labels"] = 3;
  const Graph graph = model.build();
  const Tensor logits = evaluate(graph, {{"input_ids", tokens(kIds)}, {"attention_mask", tokens(kMask)}})[0];
  const DirectDeberta direct(model.made, true);
  Matrix pooled = direct.dense({direct.encode(kIds, kMask)[0]}, "pooler.dense", 8);
  for (double& v : pooled[0]) v = DirectDeberta::gelu(v);
  expect_near(logits, direct.dense(pooled, "classifier", 3), kBound);
}

TEST(Deberta, SharedKeysProjectDistancesWithTheWeightsOfTokens) {
  TinyDeberta model("DebertaV2Model");
  model.config["share_att_key"] = true;
  model.build();
  EXPECT_FALSE(model.made.contains("encoder.layer.0.attention.self.pos_key_proj.weight"));
  EXPECT_TRUE(model.made.contains("encoder.layer.0.attention.self.key_proj.weight"));
}

TEST(Deberta, PresetsHaveTheSizesOfTheirModels) {
  const auto layers = [](const char* name) {
    const Json config = preset_config(name);
    return std::pair(config["num_hidden_layers"], config["hidden_size"]);
  };
  EXPECT_EQ(layers("deberta-xlarge"), std::pair(Json(48), Json(1024)));
  EXPECT_EQ(layers("deberta-v2-xlarge"), std::pair(Json(24), Json(1536)));
  EXPECT_EQ(layers("deberta-v3-small"), std::pair(Json(6), Json(768)));
}

TEST(Deberta, RefusesWhatItCannotBuild) {
  const auto with = [](const char* key, Json value) {
    TinyDeberta model("DebertaV2Model");
    model.config[key] = std::move(value);
    return error_of([&] { model.build(); });
  };
  EXPECT_NE(with("pos_att_type", "c2p|p2p").find("\"p2p\", which is not supported; accepted: c2p, p2c"),
            std::string::npos);
  EXPECT_NE(with("num_attention_heads", 3).find("not a multiple"), std::string::npos);
  EXPECT_NE(with("attention_head_size", 5).find("attention_head_size is 5; accepted: 4"), std::string::npos);
  EXPECT_NE(with("position_buckets", 6).find("accepted: -1, or 2 to 5, for distances up to 4"), std::string::npos);
  EXPECT_NE(with("relative_attention", "yes").find("accepted: true, false"), std::string::npos);
  TinyDeberta first("DebertaModel");
  first.config["talking_head"] = true;
  EXPECT_NE(error_of([&] { first.build(); }).find("talking_head"), std::string::npos);
}

}  // namespace
}  // namespace hone
