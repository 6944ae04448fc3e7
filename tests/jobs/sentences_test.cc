#include "jobs/sentences.h"

#include "measure/quality.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;

// Sums of at most 64 terms in another order: 64 roundings of 6e-8, through two layers and a norm; embeddings are at
// most 1.
constexpr double kRounding = 2e-5;

class Sentences : public JobsTest {
 protected:
  SentenceEncoder encoder(const std::vector<std::string>& inputs = {}) const {
    return SentenceEncoder(load_model(model, inputs), SessionOptions());
  }
  static std::vector<float> row(const Tensor& embeddings, int64_t i) {
    const std::vector<float> values = embeddings.to_floats();
    return {values.begin() + i * 32, values.begin() + (i + 1) * 32};
  }
  static double distance(const std::vector<float>& a, const std::vector<float>& b) {
    return compare(a, b).max_abs_error;
  }
  const std::vector<std::string> texts{
      "a cat", "", "dogs and 12 birds, all of them in one long row of many words", "a cat and a dog", "b", "12 birds"};
};

TEST_F(Sentences, BatchesEqualSinglesInTheOrderOfTheTexts) {
  SentenceEncoder sentences = encoder();
  for (int64_t batch : {1, 2, 32}) {
    const Tensor together = sentences.embed(texts, batch);
    ASSERT_EQ(together.shape(), (std::vector<int64_t>{6, 32}));
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::vector<float> alone = sentences.embed({texts[i]}).to_floats();
      EXPECT_LT(distance(alone, row(together, static_cast<int64_t>(i))), kRounding)
          << texts[i] << ", batches of " << batch;
    }
  }
}

TEST_F(Sentences, DifferentTextsHaveDifferentEmbeddings) {
  const Tensor all = encoder().embed(texts);
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < i; ++j) EXPECT_GT(distance(row(all, i), row(all, j)), 100 * kRounding) << i << " and " << j;
}

// Whatever stands behind the mask: no padding, padding, and padding of random tokens.
TEST_F(Sentences, PaddingDoesNotChangeAnEmbedding) {
  SentenceEncoder sentences = encoder();
  const std::vector<int64_t> ids = sentences.tokenizer().encode("a cat and a dog", 0);
  const auto embed = [&](size_t length, int64_t padding) {
    std::vector<int64_t> padded = ids, mask(length, 0);
    padded.resize(length, padding);
    std::fill_n(mask.begin(), ids.size(), 1);
    const auto n = static_cast<int64_t>(length);
    return sentences.session()
        .run({{"input_ids", Tensor::of<int64_t>({1, n}, padded)},
              {"attention_mask", Tensor::of<int64_t>({1, n}, mask)}})[0]
        .to_floats();
  };
  const std::vector<float> exact = embed(ids.size(), 0), padded = embed(48, 0);
  EXPECT_LT(distance(exact, padded), kRounding);
  EXPECT_EQ(embed(48, 17), padded);
  EXPECT_LT(distance(exact, sentences.embed({"a cat and a dog"}).to_floats()), kRounding);
}

TEST_F(Sentences, LongTextsAreCutToThePositionsOfTheModel) {
  SentenceEncoder sentences = encoder();
  EXPECT_EQ(sentences.max_tokens(), 64);
  std::string text;
  for (int i = 0; i < 62; ++i) text += "a ";  // and the two tokens around them
  EXPECT_EQ(sentences.embed({text + "b c d"}).to_floats(), sentences.embed({text}).to_floats());
  EXPECT_NE(sentences.embed({text.substr(2) + "b c d"}).to_floats(), sentences.embed({text}).to_floats());
}

TEST_F(Sentences, TheShorterOfTokenizerAndPositionsLimitsTexts) {
  Model loaded = load_model(model);
  for (const auto& [said, limit] : std::vector<std::pair<std::string, int64_t>>{{"16", 16}, {"512", 64}}) {
    loaded.graph.metadata["tokenizer.max_length"] = said;
    EXPECT_EQ(max_tokens(loaded), limit);
  }
  loaded.graph.metadata["tokenizer.max_length"] = "many";
  EXPECT_THAT(error_of([&] { max_tokens(loaded); }), HasSubstr("\"many\""));
  loaded.graph.metadata.erase("tokenizer.max_length");
  loaded.graph.metadata.erase("max_positions");
  EXPECT_EQ(max_tokens(loaded), 0);
}

TEST_F(Sentences, TokenTypesAreZerosWhenTheModelTakesThem) {
  EXPECT_LT(distance(encoder({"input_ids", "attention_mask", "token_type_ids"}).embed(texts).to_floats(),
                     encoder().embed(texts).to_floats()),
            kRounding);
}

TEST_F(Sentences, ModelsThatEmbedNoTextsAreRefused) {
  EXPECT_THAT(error_of([&] { encoder({"input_ids"}); }),
              testing::AllOf(HasSubstr("takes input_ids"), HasSubstr("attention_mask")));
  EXPECT_THAT(error_of([&] { encoder().embed({}); }), HasSubstr("no texts"));
  EXPECT_THAT(error_of([&] { encoder().embed(texts, 0); }), HasSubstr("batch is 0"));
}

}  // namespace
}  // namespace hone
