#include "generate/stopped_text.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace hone::test {
namespace {

TEST(StoppedText, HoldsBackWhatMayBeTheBeginOfAStop) {
  StoppedText text({"###"});
  EXPECT_EQ(text.add("a#"), "a");
  EXPECT_EQ(text.add("#b"), "##b");
  EXPECT_FALSE(text.stopped());
  EXPECT_EQ(text.add("c##"), "c");
  EXPECT_EQ(text.add("#d"), "");
  EXPECT_TRUE(text.stopped());
  EXPECT_EQ(text.add("e"), "");
  EXPECT_EQ(text.finish(), "");
}

TEST(StoppedText, GivesWhatWasHeldBackAtTheEnd) {
  StoppedText text({"END"});
  EXPECT_EQ(text.add("the EN"), "the ");
  EXPECT_EQ(text.finish(), "EN");
}

TEST(StoppedText, EndsBeforeTheFirstOfSeveral) {
  StoppedText text({"\n\n", "User:"});
  EXPECT_EQ(text.add("a\n"), "a");
  EXPECT_EQ(text.add("User: \n\n"), "\n");
  EXPECT_TRUE(text.stopped());
}

TEST(StoppedText, HoldsBackNoMoreThanTheLongestBegin) {
  StoppedText text({"aab"});
  EXPECT_EQ(text.add("aaaa"), "aa");
  EXPECT_EQ(text.add("b"), "");
  EXPECT_TRUE(text.stopped());
}

TEST(StoppedText, RefusesAnEmptyStop) {
  EXPECT_EQ(error_of([] { StoppedText({""}); }), "option stop: expected a text, found an empty one");
}

}  // namespace
}  // namespace hone::test
