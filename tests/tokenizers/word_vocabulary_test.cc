#include "tokenizers/word_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tokenizers/tokenizer.h"

namespace hone {
namespace {

TEST(WordVocabulary, HoldsTheMostFrequentWordsAndSpellsTheOthers) {
  const std::vector<std::string> texts{"A cat, a CAT and the dog.", "the dog; the hen"};
  const std::string lines = word_vocabulary(texts, 5 + 68 + 36 + 2);
  const Tokenizer tokenizer = Tokenizer::from_vocab(lines, true, "test");
  const int64_t last = std::ranges::count(lines, '\n') - 1;
  EXPECT_THAT(tokenizer.encode("the CAT", 0), testing::ElementsAre(2, last - 1, last, 3));
  EXPECT_EQ(tokenizer.encode("hen", 0).size(), 5u);  // three letters
  EXPECT_EQ(word_vocabulary(texts, 5 + 68 + 36 + 2), lines);
}

TEST(WordVocabulary, NeedsRoomForAWord) { EXPECT_THROW(word_vocabulary({}, 20), Error); }

}  // namespace
}  // namespace hone
