// The BERT builder: values against loops written out in double, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/evaluate.h"
#include "tests/models/direct_encoder.h"
#include "tests/models/tiny_bert.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using test::expect_near;
using test::Matrix;
using test::tokens;

class DirectBert : public test::DirectEncoder {
 public:
  using DirectEncoder::DirectEncoder;

  Matrix encode(const std::vector<int64_t>& ids, const std::vector<int64_t>& mask,
                const std::vector<int64_t>& types) const {
    Matrix words, positions, kinds;
    for (size_t s = 0; s < ids.size(); ++s) {
      words.push_back(row("embeddings.word_embeddings.weight", static_cast<size_t>(ids[s])));
      positions.push_back(row("embeddings.position_embeddings.weight", s));
      kinds.push_back(row("embeddings.token_type_embeddings.weight", static_cast<size_t>(types[s])));
    }
    const Matrix x = norm(sum(sum(words, positions), kinds), "embeddings.LayerNorm");
    return rest_of_layer(attend(x, mask, "encoder.layer.0.attention.self."), x, 16);
  }

 private:
  Matrix attend(const Matrix& x, const std::vector<int64_t>& mask, const std::string& name) const {
    const Matrix q = dense(x, name + "query", kHidden), k = dense(x, name + "key", kHidden),
                 v = dense(x, name + "value", kHidden);
    return mix(v, [&](size_t head, size_t i, size_t j) {
      return mask[j] ? std::exp(product(q[i], k[j], head) / std::sqrt(double{kColumns})) : 0;
    });
  }
};

const std::vector<int64_t> kIds{3, 1, 4, 10}, kMask{1, 1, 1, 0}, kOnes{1, 1, 1, 1}, kZeros{0, 0, 0, 0};

// Weights, ids and activations are below 10; a dozen f32 roundings at that size.
constexpr double kBound = 10 * 12 * 0x1p-24;

TEST(Bert, EncodesAsTheFormulasSay) {
  TinyBert bert;
  const Graph graph = bert.build();
  verify(graph);
  const std::vector<Tensor> outputs = evaluate(graph, {{"input_ids", tokens(kIds)}, {"attention_mask", tokens(kMask)}});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(graph.outputs()[0].label, "last_hidden_state");
  expect_near(outputs[0], DirectBert(bert.made).encode(kIds, kMask, kZeros), kBound);
}

TEST(Bert, WithoutAMaskEveryTokenCounts) {
  TinyBert bert;
  bert.inputs = {"input_ids"};
  const Graph graph = bert.build();
  EXPECT_EQ(graph.nodes("full").size(), 1u);
  expect_near(evaluate(graph, {{"input_ids", tokens(kIds)}})[0], DirectBert(bert.made).encode(kIds, kOnes, kZeros),
              kBound);
}

TEST(Bert, TokenTypesAreRead) {
  TinyBert bert;
  bert.inputs = {"input_ids", "token_type_ids"};
  const std::vector<int64_t> types{0, 1, 1, 0};
  const Graph graph = bert.build();
  expect_near(evaluate(graph, {{"input_ids", tokens(kIds)}, {"token_type_ids", tokens(types)}})[0],
              DirectBert(bert.made).encode(kIds, kOnes, types), kBound);
}

TEST(Bert, ThePoolerIsThereWhenItsWeightsAre) {
  TinyBert bert;
  bert.has_pooler = true;
  const std::vector<Tensor> outputs =
      evaluate(bert.build(), {{"input_ids", tokens(kIds)}, {"attention_mask", tokens(kMask)}});
  ASSERT_EQ(outputs.size(), 2u);
  const DirectBert direct(bert.made);
  Matrix pooled = direct.dense({direct.encode(kIds, kMask, kZeros)[0]}, "pooler.dense", 8);
  for (double& v : pooled[0]) v = std::tanh(v);
  expect_near(outputs[1], pooled, kBound);
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
      const Tensor found = evaluate(graph, {{"input_ids", tokens(kIds)}, {"attention_mask", tokens(kMask)}})[0];
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
      expect_near(found, wanted, kBound);
    }
}

TEST(Bert, AClassifierGivesLogitsAndWithLabelsTheLoss) {
  TinyBert bert;
  bert.config["architectures"] = {"BertForSequenceClassification"};
  bert.config["id2label"] = {{"0", "a"}, {"1", "b"}, {"2", "c"}};
  bert.inputs = {"input_ids", "attention_mask", "labels"};
  const Graph graph = bert.build();
  const std::vector<Tensor> outputs = evaluate(
      graph,
      {{"input_ids", tokens(kIds)}, {"attention_mask", tokens(kMask)}, {"labels", Tensor::of<int64_t>({1}, {2})}});
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
    evaluate(graph, {{"input_ids", tokens({1, 2, 3, 4, 5, 6, 7})}});
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
    return error_of([&] { bert.build(); });
  };
  EXPECT_NE(with("position_embedding_type", "relative_key").find("accepted: \"absolute\""), std::string::npos);
  EXPECT_NE(with("hidden_act", "gelu_neww").find("Did you mean gelu_new"), std::string::npos);
  EXPECT_NE(with("num_attention_heads", 3).find("not a multiple"), std::string::npos);
  EXPECT_NE(with("hidden_size", -8).find("\"hidden_size\" is -8"), std::string::npos);
  EXPECT_NE(with("hidden_size", "big").find("hidden_size"), std::string::npos);
  EXPECT_NE(with("vocab_size", nullptr).find("vocab_size"), std::string::npos);
  EXPECT_NE(with("is_decoder", true).find("\"is_decoder\" is true"), std::string::npos);
  TinyBert bert;
  bert.inputs = {"input_ids", "atention_mask"};
  EXPECT_NE(error_of([&] { bert.build(); }).find("Did you mean attention_mask"), std::string::npos);
  bert.inputs = {"input_ids", "labels"};
  EXPECT_NE(error_of([&] { bert.build(); }).find("\"labels\" is not an input"), std::string::npos);
  bert.inputs = {"attention_mask"};
  EXPECT_NE(error_of([&] { bert.build(); }).find("lack input_ids"), std::string::npos);
  bert.inputs = {};
  bert.pooling = {{"pooling_mode_lasttoken", true}};
  EXPECT_NE(error_of([&] { bert.build(); }).find("\"lasttoken\" is not supported"), std::string::npos);
}

}  // namespace
}  // namespace hone
