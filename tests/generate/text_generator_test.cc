#include "generate/text_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/stop.h"
#include "tests/generate/letters.h"
#include "tests/generate/tiny_decoder.h"

namespace hone::test {
namespace {

using testing::HasSubstr;
using Ids = std::vector<int64_t>;

TextGenerator generator(int64_t sequences = 1, int64_t piece = 512) {
  return TextGenerator(tiny_decoder(), tiny_facts(), letters(), interpreted(),
                       {.sequences = sequences, .prompt_piece = piece});
}

TextRequest request(Ids prompt, int64_t most = 6) {
  TextRequest made;
  made.prompt = std::move(prompt), made.max_tokens = most, made.choice.temperature = 5, made.seed = 3;
  return made;
}

Ids ids_of(const GeneratedText& text) {
  Ids ids;
  for (const TextToken& each : text.tokens) ids.push_back(each.id);
  return ids;
}

TEST(TextGenerator, EachTokenIsChosenFromWhatAFreshReadingOfAllBeforeItGives) {
  TextGenerator g = generator();
  const TextRequest asked = request({5, 6, 7});
  const GeneratedText got = g.generate(asked);
  ASSERT_FALSE(got.tokens.empty());
  DecoderRuns fresh(tiny_decoder(), tiny_facts(), interpreted(), 1);
  Ids history = asked.prompt;
  for (size_t i = 0; i < got.tokens.size(); ++i) {
    fresh.clear(0);
    const DecoderRuns::Row row{0, history};
    const std::vector<float> logits = fresh.run({&row, 1}).to_floats();
    EXPECT_EQ(got.tokens[i].id, choose_token(logits, history, asked.choice, asked.seed, static_cast<int64_t>(i)));
    EXPECT_NEAR(got.tokens[i].log_probability, log_probability(logits, got.tokens[i].id), 1e-5);
    history.push_back(got.tokens[i].id);
  }
}

TEST(TextGenerator, PiecesOfAPromptAndOtherSequencesChangeNothing) {
  std::vector<TextRequest> asked;
  for (int64_t i = 0; i < 5; ++i) asked.push_back(request(Ids(static_cast<size_t>(i + 2), 5 + i), 3 + i));
  TextGenerator three = generator(3), pieces = generator(1, 2);
  const std::vector<GeneratedText> together = three.generate(asked);
  ASSERT_EQ(together.size(), 5u);
  for (size_t i = 0; i < asked.size(); ++i) {
    EXPECT_EQ(ids_of(together[i]), ids_of(generator().generate(asked[i]))) << i;
    EXPECT_EQ(ids_of(together[i]), ids_of(pieces.generate(asked[i]))) << i;
  }
}

TEST(TextGenerator, TellsOfEachTokenAndEndsWhereItIsToldTo) {
  TextGenerator g = generator();
  std::string text;
  size_t tokens = 0;
  TextRequest asked = request({5, 6, 7}, 20);
  const GeneratedText got = g.generate(asked, [&](size_t number, const TextToken& token) {
    EXPECT_EQ(number, 0u);
    text += token.text;
    return ++tokens < 3;
  });
  ASSERT_EQ(got.tokens.size(), tokens);
  if (tokens == 3) {
    EXPECT_EQ(got.end, TextEnd::callback);
  }
  EXPECT_TRUE(got.text.starts_with(text));
}

TEST(TextGenerator, EndsAtTheModelsEndTokenAtAStopAndWhereTheContextIsFull) {
  DecoderFacts all_end = tiny_facts();
  all_end.end.clear();
  for (int64_t id = 0; id < kTinyVocabulary; ++id) all_end.end.push_back(id);
  TextGenerator ends(tiny_decoder(), all_end, letters(), interpreted());
  const GeneratedText ended = ends.generate(request({5}));
  EXPECT_EQ(ended.end, TextEnd::end_token);
  EXPECT_EQ(ended.tokens.size(), 1u);
  EXPECT_EQ(ended.text, "");

  DecoderFacts no_end = tiny_facts();
  no_end.end.clear();
  TextGenerator g(tiny_decoder(), no_end, letters(), interpreted());
  const GeneratedText full = g.generate(request({5, 6, 7}, 1000));
  EXPECT_EQ(full.end, TextEnd::context_full);
  EXPECT_EQ(std::ssize(full.tokens), kTinyContext - 3 + 1);
  EXPECT_EQ(g.generate(request({5, 6, 7}, 4)).end, TextEnd::max_tokens);

  const size_t at = full.text.find_first_of("fghijklmnopqrst");
  ASSERT_NE(at, std::string::npos);
  TextRequest stopped = request({5, 6, 7}, 1000);
  stopped.stops = {full.text.substr(at, 1)};
  const GeneratedText cut = g.generate(stopped);
  EXPECT_EQ(cut.end, TextEnd::stop);
  EXPECT_EQ(cut.text, full.text.substr(0, at));
}

TEST(TextGenerator, GivesWhatThereIsWhenWorkIsToEnd) {
  DecoderFacts no_end = tiny_facts();
  no_end.end.clear();
  TextGenerator g(tiny_decoder(), no_end, letters(), interpreted());
  size_t tokens = 0;
  const GeneratedText got = g.generate(request({5, 6}, 20), [&](size_t, const TextToken&) {
    if (++tokens == 2) request_stop(Stop::interrupted);
    return true;
  });
  request_stop(Stop::none);
  EXPECT_EQ(got.end, TextEnd::interrupted);
  EXPECT_EQ(got.tokens.size(), 2u);
  EXPECT_EQ(g.generate(request({5, 6}, 2)).tokens.size(), 2u);
}

TEST(TextGenerator, AnswersFollowTheSeed) {
  TextGenerator g = generator();
  TextRequest asked = request({5, 6, 7}, 12), other = asked;
  other.seed = 4;
  EXPECT_EQ(ids_of(g.generate(asked)), ids_of(g.generate(asked)));
  EXPECT_NE(ids_of(g.generate(asked)), ids_of(g.generate(other)));
}

TEST(TextGenerator, APromptThatIsTooLongSaysByHowMuchOrLosesItsBegin) {
  TextGenerator g = generator();
  TextRequest asked = request(Ids(30, 5));
  EXPECT_EQ(error_of([&] { g.generate(asked); }),
            "the prompt has 30 tokens, 6 more than the 24 of the context; truncate leaves out its begin");
  asked.truncate = true;
  const GeneratedText got = g.generate(asked);
  EXPECT_EQ(got.prompt_tokens, 24);
  EXPECT_EQ(got.prompt_left_out, 6);
  EXPECT_EQ(got.tokens.size(), 1u);
}

TEST(TextGenerator, RefusesWhatDoesNotFitBeforeItRuns) {
  TextGenerator g = generator();
  EXPECT_EQ(error_of([&] { g.generate(request({})); }), "the prompt has no token; at least 1 is needed");
  EXPECT_EQ(error_of([&] { g.generate(request({20})); }),
            "token 20 of the prompt is beyond the 20 tokens of the model's vocabulary");
  EXPECT_EQ(error_of([&] { g.generate(request({5}, 0)); }), "option max-tokens: expected an integer from 1, found 0");
  EXPECT_EQ(error_of([] { TextGenerator(tiny_decoder(), tiny_facts(), letters(21), interpreted()); }),
            "the tokenizer has 21 tokens and the model's vocabulary 20: they are not of one model");
  EXPECT_EQ(error_of([] { TextGenerator(tiny_decoder(), tiny_facts(), letters(), interpreted(), {.context = 25}); }),
            "option context: expected 2 to 24, the model's tokens, found 25");
  DecoderFacts none;
  EXPECT_EQ(error_of([&] { DecoderRuns(tiny_decoder(), none, interpreted(), 1); }),
            "the model does not say how many tokens a sequence may have");
}

}  // namespace
}  // namespace hone::test
