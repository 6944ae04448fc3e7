// Text of include/hone, token by token.
#include <hone/generate.h>

#include "tests/api/error_of.h"
#include "tests/api/letter_model.h"

namespace {

using api_test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

class ApiTextGenerator : public testing::Test {
 protected:
  hone::TextGenerator generator(int64_t sequences = 1) const {
    hone::TextGeneratorOptions options;
    options.session.no_cache = true, options.session.optimise = 1, options.sequences = sequences;
    return hone::TextGenerator(hone::Model::open(path), options);
  }
  static hone::TextRequest request(std::vector<int64_t> prompt) {
    hone::TextRequest made;
    made.prompt = std::move(prompt), made.max_tokens = 8, made.temperature = 3;
    return made;
  }
  static std::vector<int64_t> ids_of(const hone::GeneratedText& text) {
    std::vector<int64_t> ids;
    for (const hone::TextToken& token : text.tokens) ids.push_back(token.id);
    return ids;
  }

  const std::string path = api_test::letter_model();
};

TEST_F(ApiTextGenerator, TellsOfEachTokenAndGivesThemAll) {
  hone::TextGenerator made = generator();
  EXPECT_THAT(made.prompt("fgh"), ElementsAre(5, 6, 7));
  EXPECT_EQ(made.context(), 64);
  EXPECT_EQ(made.vocabulary(), 20);
  std::vector<int64_t> told;
  std::string text;
  const hone::GeneratedText answer =
      made.generate(request({5, 6, 7}), [&](size_t number, const hone::TextToken& token) {
        EXPECT_EQ(number, 0u);
        EXPECT_LT(token.log_probability, 0);
        told.push_back(token.id), text += token.text;
        return true;
      });
  EXPECT_EQ(told, ids_of(answer));
  EXPECT_EQ(text, answer.text);
  EXPECT_EQ(answer.end, hone::TextEnd::max_tokens);
  EXPECT_STREQ(hone::to_string(answer.end), "max tokens");
  EXPECT_EQ(answer.prompt_tokens, 3);
  EXPECT_EQ(ids_of(made.generate(request({5, 6, 7}))), told);
}

TEST_F(ApiTextGenerator, ACallbackEndsTheAnswerOrThrowsThroughIt) {
  hone::TextGenerator made = generator();
  const hone::GeneratedText cut = made.generate(request({5}), [](size_t, const hone::TextToken&) { return false; });
  EXPECT_EQ(cut.tokens.size(), 1u);
  EXPECT_EQ(cut.end, hone::TextEnd::callback);
  EXPECT_THROW(made.generate(request({5}), [](size_t, const hone::TextToken&) -> bool { throw 7; }), int);
  EXPECT_EQ(made.generate(request({5})).tokens.size(), 8u);
}

TEST_F(ApiTextGenerator, RequestsAtOnceAreAnsweredAsEachAlone) {
  const std::vector<hone::TextRequest> requests{request({5, 6}), request({7}), request({8, 9, 10})};
  const std::vector<hone::GeneratedText> together = generator(2).generate(requests);
  ASSERT_EQ(together.size(), 3u);
  hone::TextGenerator alone = generator();
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(ids_of(together[i]), ids_of(alone.generate(requests[i]))) << i;
}

TEST_F(ApiTextGenerator, ConversationsAreWhatTheTemplateMakesOfThem) {
  const hone::TextGenerator made = generator();
  ASSERT_TRUE(made.has_chat_template());
  const std::vector<hone::ChatMessage> messages{{"system", "ii"}, {"user", "gh"}};
  EXPECT_EQ(made.prompt(messages), made.prompt("<s>iighf"));
}

TEST_F(ApiTextGenerator, WhatDoesNotFitIsAnError) {
  hone::TextGenerator made = generator();
  EXPECT_THAT(error_of([&] { made.generate(request(std::vector<int64_t>(70, 5))); }), HasSubstr("6 more than the 64"));
  EXPECT_THAT(error_of([&] { made.generate(request({20})); }), HasSubstr("beyond the 20 tokens"));
  EXPECT_THAT(error_of([&] { made.generate(request({-1})); }), HasSubstr("beyond the 20 tokens"));
  hone::TextRequest hot = request({5});
  hot.temperature = -1;
  EXPECT_THAT(error_of([&] { made.generate(hot); }), HasSubstr("temperature"));
  EXPECT_THAT(error_of([&] {
                made.generate(request({5}), [&](size_t, const hone::TextToken&) {
                  made.generate(request({5}));
                  return true;
                });
              }),
              HasSubstr("one call at a time"));
  EXPECT_THAT(error_of([] { hone::TextGenerator(hone::Model::open(api_test::letter_model(false))); }),
              HasSubstr("has no tokenizer"));
  hone::TextGeneratorOptions options;
  options.kv_cache = "int9000";
  EXPECT_THAT(error_of([&] { hone::TextGenerator(hone::Model::open(path), options); }), HasSubstr("int9000"));
}

}  // namespace
