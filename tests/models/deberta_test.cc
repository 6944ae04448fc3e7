// The DeBERTa builders: values against loops written out in double, and what they refuse.
// bench/peers/compare_deberta.py compares them with Hugging Face's own code.
#include <gtest/gtest.h>

#include <cmath>

#include "models/find_model.h"
#include "models/random_weights.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

constexpr int64_t kHidden = 8, kHeads = 2, kColumns = 4, kSpan = 4, kInner = 12;

using Matrix = std::vector<std::vector<double>>;  // rows are tokens

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

// One layer on one sentence, straight from the paper's formulas. `second`: v2's names of the same things.
class DirectDeberta {
 public:
  DirectDeberta(const std::map<std::string, Tensor>& weights, bool second) : second_(second) {
    for (const auto& [name, tensor] : weights) weights_[name] = tensor.to_doubles();
  }

  Matrix encode(const std::vector<int64_t>& ids, const std::vector<int64_t>& mask) const {
    Matrix x;
    for (int64_t id : ids) {
      const auto* row = weights_.at("embeddings.word_embeddings.weight").data() + id * kHidden;
      x.emplace_back(row, row + kHidden);
    }
    x = norm(x, "embeddings.LayerNorm");
    for (size_t s = 0; s < x.size(); ++s)
      for (double& v : x[s]) v *= static_cast<double>(mask[s]);
    const std::string layer = "encoder.layer.0.";
    const Matrix mixed = dense(attend(x, mask, layer + "attention.self."), layer + "attention.output.dense", kHidden);
    x = norm(sum(mixed, x), layer + "attention.output.LayerNorm");
    Matrix up = dense(x, layer + "intermediate.dense", kInner);
    for (auto& row : up)
      for (double& v : row) v = gelu(v);
    return norm(sum(dense(up, layer + "output.dense", kHidden), x), layer + "output.LayerNorm");
  }

  Matrix dense(const Matrix& x, const std::string& name, int64_t outputs) const {
    Matrix y;
    const auto bias = weights_.find(name + ".bias");
    for (const auto& row : x) {
      y.emplace_back();
      for (int64_t o = 0; o < outputs; ++o) {
        double value = bias == weights_.end() ? 0 : bias->second[static_cast<size_t>(o)];
        for (size_t i = 0; i < row.size(); ++i)
          value += row[i] * weights_.at(name + ".weight")[static_cast<size_t>(o) * row.size() + i];
        y.back().push_back(value);
      }
    }
    return y;
  }

  static double gelu(double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); }

 private:
  static Matrix sum(Matrix a, const Matrix& b) {
    for (size_t i = 0; i < a.size(); ++i)
      for (size_t j = 0; j < a[i].size(); ++j) a[i][j] += b[i][j];
    return a;
  }

  Matrix norm(Matrix x, const std::string& name) const {
    for (auto& row : x) {
      double mean = 0, variance = 0;
      for (double v : row) mean += v / kHidden;
      for (double v : row) variance += (v - mean) * (v - mean) / kHidden;
      for (size_t c = 0; c < row.size(); ++c)
        row[c] = (row[c] - mean) / std::sqrt(variance + 1e-3) * weights_.at(name + ".weight")[c] +
                 weights_.at(name + ".bias")[c];
    }
    return x;
  }

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
          const double bias = part == 1 ? 0 : weights_.at(at + (part == 0 ? "q_bias" : "v_bias"))[h * kColumns + c];
          y.back().push_back(row[(h * 3 + part) * kColumns + c] + bias);
        }
    }
    return y;
  }

  static double product(const std::vector<double>& a, const std::vector<double>& b, size_t head) {
    double sum = 0;
    for (size_t c = head * kColumns; c < (head + 1) * kColumns; ++c) sum += a[c] * b[c];
    return sum;
  }

  Matrix attend(const Matrix& x, const std::vector<int64_t>& mask, const std::string& at) const {
    const Matrix q = projected(x, at, 0), k = projected(x, at, 1), v = projected(x, at, 2);
    Matrix table;
    for (size_t row = 0; row < 2 * kSpan; ++row) {
      const auto* first = weights_.at("encoder.rel_embeddings.weight").data() + row * kHidden;
      table.emplace_back(first, first + kHidden);
    }
    const Matrix keys = dense(table, at + (second_ ? "pos_key_proj" : "pos_proj"), kHidden);
    const Matrix queries = dense(table, at + (second_ ? "pos_query_proj" : "pos_q_proj"), kHidden);
    Matrix out(x.size(), std::vector<double>(kHidden, 0));
    for (size_t h = 0; h < kHeads; ++h)
      for (size_t i = 0; i < x.size(); ++i) {
        std::vector<double> share(x.size());
        double total = 0;
        for (size_t j = 0; j < x.size(); ++j) {
          const auto distance = static_cast<int64_t>(i) - static_cast<int64_t>(j);
          const auto row = static_cast<size_t>(std::clamp<int64_t>(distance + kSpan, 0, 2 * kSpan - 1));
          const double score = product(q[i], k[j], h) + product(q[i], keys[row], h) + product(k[j], queries[row], h);
          // A token that does not count sees all alike.
          const bool counts = mask[i] && mask[j];
          total += share[j] = !mask[i] ? 1 : counts ? std::exp(score / std::sqrt(3.0 * kColumns)) : 0;
        }
        for (size_t j = 0; j < x.size(); ++j)
          for (size_t c = h * kColumns; c < (h + 1) * kColumns; ++c) out[i][c] += share[j] / total * v[j][c];
      }
    return out;
  }

  std::map<std::string, std::vector<double>> weights_;
  bool second_;
};

Tensor row(const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>({1, static_cast<int64_t>(values.size())}, values);
}
const std::vector<int64_t> kIds{3, 1, 4, 10, 5, 9, 2}, kMask{1, 1, 1, 1, 1, 1, 0};

// Weights and activations are below 10; some dozens of f32 roundings at that size.
constexpr double kBound = 10 * 40 * 0x1p-24;

void expect_near(const Tensor& found, const Matrix& wanted) {
  const std::vector<double> values = found.to_doubles();
  ASSERT_EQ(values.size(), wanted.size() * wanted[0].size());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], wanted[i / wanted[0].size()][i % wanted[0].size()], kBound);
}

std::string build_error(TinyDeberta model) {
  try {
    model.build();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Deberta, EncodesAsTheFormulasSay) {
  for (const char* architecture : {"DebertaModel", "DebertaV2Model"}) {
    SCOPED_TRACE(architecture);
    TinyDeberta model(architecture);
    const Graph graph = model.build();
    verify(graph);
    const std::vector<Tensor> outputs = evaluate(graph, {{"input_ids", row(kIds)}, {"attention_mask", row(kMask)}});
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(graph.outputs()[0].label, "last_hidden_state");
    const DirectDeberta direct(model.made, architecture == std::string("DebertaV2Model"));
    expect_near(outputs[0], direct.encode(kIds, kMask));
  }
}

TEST(Deberta, AClassifierPoolsTheFirstToken) {
  TinyDeberta model("DebertaV2ForSequenceClassification");
  model.config["num_labels"] = 3;
  const Graph graph = model.build();
  const Tensor logits = evaluate(graph, {{"input_ids", row(kIds)}, {"attention_mask", row(kMask)}})[0];
  const DirectDeberta direct(model.made, true);
  Matrix pooled = direct.dense({direct.encode(kIds, kMask)[0]}, "pooler.dense", kHidden);
  for (double& v : pooled[0]) v = DirectDeberta::gelu(v);
  expect_near(logits, direct.dense(pooled, "classifier", 3));
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
    return build_error(std::move(model));
  };
  EXPECT_NE(with("pos_att_type", "c2p|p2p").find("\"p2p\", which is not supported; accepted: c2p, p2c"),
            std::string::npos);
  EXPECT_NE(with("num_attention_heads", 3).find("not a multiple"), std::string::npos);
  EXPECT_NE(with("attention_head_size", 5).find("attention_head_size is 5; accepted: 4"), std::string::npos);
  EXPECT_NE(with("position_buckets", 6).find("accepted: -1, or 2 to 5, for distances up to 4"), std::string::npos);
  EXPECT_NE(with("relative_attention", "yes").find("accepted: true, false"), std::string::npos);
  TinyDeberta first("DebertaModel");
  first.config["talking_head"] = true;
  EXPECT_NE(build_error(first).find("talking_head"), std::string::npos);
}

}  // namespace
}  // namespace hone
