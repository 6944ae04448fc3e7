// The BERT builder: values against loops written out in double, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/evaluate.h"
#include "tests/models/tiny_bert.h"

namespace hone {
namespace {

using Matrix = std::vector<std::vector<double>>;  // rows are tokens

// The encoder on one sentence, straight from the paper's formulas.
class DirectBert {
 public:
  explicit DirectBert(const std::map<std::string, Tensor>& weights) {
    for (const auto& [name, tensor] : weights) weights_[name] = tensor.to_doubles();
  }

  Matrix encode(const std::vector<int64_t>& ids, const std::vector<int64_t>& mask,
                const std::vector<int64_t>& types) const {
    Matrix x;
    for (size_t s = 0; s < ids.size(); ++s) {
      std::vector<double> row(kHidden);
      for (size_t c = 0; c < kHidden; ++c)
        row[c] = at("embeddings.word_embeddings.weight", static_cast<size_t>(ids[s]), c) +
                 at("embeddings.position_embeddings.weight", s, c) +
                 at("embeddings.token_type_embeddings.weight", static_cast<size_t>(types[s]), c);
      x.push_back(row);
    }
    x = norm(x, "embeddings.LayerNorm");
    const std::string layer = "encoder.layer.0.";
    const Matrix mixed = dense(attend(x, mask, layer + "attention.self."), layer + "attention.output.dense", kHidden);
    x = norm(sum(mixed, x), layer + "attention.output.LayerNorm");
    Matrix up = dense(x, layer + "intermediate.dense", 16);
    for (auto& row : up)
      for (double& v : row) v = 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
    return norm(sum(dense(up, layer + "output.dense", kHidden), x), layer + "output.LayerNorm");
  }

  Matrix dense(const Matrix& x, const std::string& name, size_t outputs) const {
    Matrix y;
    for (const auto& row : x) {
      y.emplace_back();
      for (size_t o = 0; o < outputs; ++o) {
        double value = weights_.at(name + ".bias")[o];
        for (size_t i = 0; i < row.size(); ++i) value += row[i] * weights_.at(name + ".weight")[o * row.size() + i];
        y.back().push_back(value);
      }
    }
    return y;
  }

 private:
  static constexpr size_t kHidden = 8, kHeads = 2, kColumns = 4;
  double at(const std::string& name, size_t row, size_t column) const {
    return weights_.at(name)[row * kHidden + column];
  }

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
      for (size_t c = 0; c < kHidden; ++c)
        row[c] = (row[c] - mean) / std::sqrt(variance + 1e-3) * weights_.at(name + ".weight")[c] +
                 weights_.at(name + ".bias")[c];
    }
    return x;
  }

  Matrix attend(const Matrix& x, const std::vector<int64_t>& mask, const std::string& name) const {
    const Matrix q = dense(x, name + "query", kHidden), k = dense(x, name + "key", kHidden),
                 v = dense(x, name + "value", kHidden);
    Matrix out(x.size(), std::vector<double>(kHidden, 0));
    for (size_t h = 0; h < kHeads; ++h)
      for (size_t s = 0; s < x.size(); ++s) {
        std::vector<double> share(x.size());
        double total = 0;
        for (size_t t = 0; t < x.size(); ++t) {
          double score = 0;
          for (size_t c = h * kColumns; c < (h + 1) * kColumns; ++c) score += q[s][c] * k[t][c];
          total += share[t] = mask[t] ? std::exp(score / std::sqrt(double{kColumns})) : 0;
        }
        for (size_t t = 0; t < x.size(); ++t)
          for (size_t c = h * kColumns; c < (h + 1) * kColumns; ++c) out[s][c] += share[t] / total * v[t][c];
      }
    return out;
  }

  std::map<std::string, std::vector<double>> weights_;
};

Tensor ids(const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>({1, static_cast<int64_t>(values.size())}, values);
}
const std::vector<int64_t> kIds{3, 1, 4, 10}, kMask{1, 1, 1, 0}, kOnes{1, 1, 1, 1}, kZeros{0, 0, 0, 0};

// Weights, ids and activations are below 10; a dozen f32 roundings at that size.
constexpr double kBound = 10 * 12 * 0x1p-24;

void expect_near(const Tensor& found, const Matrix& wanted) {
  const std::vector<double> values = found.to_doubles();
  ASSERT_EQ(values.size(), wanted.size() * wanted[0].size());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], wanted[i / wanted[0].size()][i % wanted[0].size()], kBound);
}

std::string build_error(TinyBert bert) {
  try {
    bert.build();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Bert, EncodesAsTheFormulasSay) {
  TinyBert bert;
  const Graph graph = bert.build();
  verify(graph);
  const std::vector<Tensor> outputs = evaluate(graph, {{"input_ids", ids(kIds)}, {"attention_mask", ids(kMask)}});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(graph.outputs()[0].label, "last_hidden_state");
  expect_near(outputs[0], DirectBert(bert.made).encode(kIds, kMask, kZeros));
}

TEST(Bert, WithoutAMaskEveryTokenCounts) {
  TinyBert bert;
  bert.inputs = {"input_ids"};
  const Graph graph = bert.build();
  EXPECT_EQ(graph.nodes("full").size(), 1u);
  expect_near(evaluate(graph, {{"input_ids", ids(kIds)}})[0], DirectBert(bert.made).encode(kIds, kOnes, kZeros));
}

TEST(Bert, TokenTypesAreRead) {
  TinyBert bert;
  bert.inputs = {"input_ids", "token_type_ids"};
  const std::vector<int64_t> types{0, 1, 1, 0};
  const Graph graph = bert.build();
  expect_near(evaluate(graph, {{"input_ids", ids(kIds)}, {"token_type_ids", ids(types)}})[0],
              DirectBert(bert.made).encode(kIds, kOnes, types));
}

TEST(Bert, ThePoolerIsThereWhenItsWeightsAre) {
  TinyBert bert;
  bert.has_pooler = true;
  const std::vector<Tensor> outputs =
      evaluate(bert.build(), {{"input_ids", ids(kIds)}, {"attention_mask", ids(kMask)}});
  ASSERT_EQ(outputs.size(), 2u);
  const DirectBert direct(bert.made);
  Matrix pooled = direct.dense({direct.encode(kIds, kMask, kZeros)[0]}, "pooler.dense", 8);
  for (double& v : pooled[0]) v = std::tanh(v);
  expect_near(outputs[1], pooled);
}

TEST(Bert, SentencesArePooledAndNormalised) {
  for (const char* mode : {"mean_tokens", "cls_token", "max_tokens"})
    for (bool normalise : {false, true}) {
      SCOPED_TRACE(mode);
      TinyBert bert;
      bert.pooling = {{"word_embedding_dimension", 8},
                      {std::string("pooling_mode_") + mode, true},
                      {"pooling_mode_mean_sqrt_len_tokens", false}};
      bert.normalise = normalise;
      const Graph graph = bert.build();
      EXPECT_EQ(graph.outputs()[0].label, "embedding");
      const Tensor found = evaluate(graph, {{"input_ids", ids(kIds)}, {"attention_mask", ids(kMask)}})[0];
      const Matrix x = DirectBert(bert.made).encode(kIds, kMask, kZeros);
      Matrix wanted{x[0]};
      for (size_t c = 0; c < 8; ++c) {
        if (mode == std::string("mean_tokens")) wanted[0][c] = (x[0][c] + x[1][c] + x[2][c]) / 3;
        if (mode == std::string("max_tokens")) wanted[0][c] = std::max({x[0][c], x[1][c], x[2][c]});
      }
      double square = 0;
      for (double v : wanted[0]) square += v * v;
      if (normalise)
        for (double& v : wanted[0]) v /= std::sqrt(square);
      expect_near(found, wanted);
    }
}

TEST(Bert, AClassifierGivesLogitsAndWithLabelsTheLoss) {
  TinyBert bert;
  bert.config["architectures"] = {"BertForSequenceClassification"};
  bert.config["id2label"] = {{"0", "a"}, {"1", "b"}, {"2", "c"}};
  bert.inputs = {"input_ids", "attention_mask", "labels"};
  const Graph graph = bert.build();
  const std::vector<Tensor> outputs = evaluate(
      graph, {{"input_ids", ids(kIds)}, {"attention_mask", ids(kMask)}, {"labels", Tensor::of<int64_t>({1}, {2})}});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].shape(), (std::vector<int64_t>{1, 3}));
  const std::vector<double> logits = outputs[0].to_doubles();
  const double loss = std::log(std::exp(logits[0]) + std::exp(logits[1]) + std::exp(logits[2])) - logits[2];
  EXPECT_NEAR(outputs[1].to_doubles()[0], loss, kBound);
  bert.inputs = {"input_ids"};
  EXPECT_EQ(bert.build().outputs().size(), 1u);
}

TEST(Bert, ALongerSentenceThanTheModelKnowsIsAnErrorThatNamesBothLengths) {
  TinyBert bert;
  bert.inputs = {"input_ids"};
  const Graph graph = bert.build();
  try {
    evaluate(graph, {{"input_ids", ids({1, 2, 3, 4, 5, 6, 7})}});
    FAIL() << "seven tokens went through a model of six positions";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("0 to 7"), std::string::npos) << text;
    EXPECT_NE(text.find("which has 6"), std::string::npos) << text;
  }
}

TEST(Bert, PrefixesAndNamesAreThoseOfHuggingFace) {
  TinyBert bert;
  bert.build();
  EXPECT_EQ(bert.made.size(), 5u + 16u);
  EXPECT_TRUE(bert.made.contains("encoder.layer.0.attention.self.query.weight"));
  EXPECT_EQ(bert.made.at("encoder.layer.0.intermediate.dense.weight").shape(), (std::vector<int64_t>{16, 8}));
}

TEST(Bert, RefusesWhatItCannotBuild) {
  const auto with = [](const char* key, Json value) {
    TinyBert bert;
    bert.config[key] = std::move(value);
    return build_error(std::move(bert));
  };
  EXPECT_NE(with("position_embedding_type", "relative_key").find("accepted: absolute"), std::string::npos);
  EXPECT_NE(with("hidden_act", "gelu_neww").find("Did you mean gelu_new"), std::string::npos);
  EXPECT_NE(with("num_attention_heads", 3).find("not a multiple"), std::string::npos);
  EXPECT_NE(with("hidden_size", -8).find("\"hidden_size\" is -8"), std::string::npos);
  EXPECT_NE(with("hidden_size", "big").find("hidden_size"), std::string::npos);
  EXPECT_NE(with("vocab_size", nullptr).find("vocab_size"), std::string::npos);
  EXPECT_NE(with("is_decoder", true).find("decoders"), std::string::npos);
  TinyBert bert;
  bert.inputs = {"input_ids", "atention_mask"};
  EXPECT_NE(build_error(bert).find("Did you mean attention_mask"), std::string::npos);
  bert.inputs = {"input_ids", "labels"};
  EXPECT_NE(build_error(bert).find("\"labels\" is not an input"), std::string::npos);
  bert.inputs = {"attention_mask"};
  EXPECT_NE(build_error(bert).find("lack input_ids"), std::string::npos);
  bert.inputs = {};
  bert.pooling = {{"pooling_mode_lasttoken", true}};
  EXPECT_NE(build_error(bert).find("\"lasttoken\" is not supported"), std::string::npos);
}

}  // namespace
}  // namespace hone
