#include "labs/quick_reviews.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace hone {
namespace {

using testing::HasSubstr;

TEST(QuickReviews, AreTheFirstOfEachSplit) {
  const std::string all =
      "text,label,split\n\"a, b\",1,train\nc,0,test\nd,1,train\ne,0,test\nf,1,train\n\"two\nlines\",0,validation\n";
  EXPECT_EQ(first_of_each_split(all, "reviews.csv", 2, 1),
            "text,label,split\n\"a, b\",1,train\nc,0,test\nd,1,train\n\"two\nlines\",0,validation\n");
  EXPECT_EQ(first_of_each_split(all, "reviews.csv", 100, 100), all);
}

TEST(QuickReviews, WithoutASplitAllAreForTraining) {
  EXPECT_EQ(first_of_each_split("stars\n5\n4\n3\n", "reviews.csv", 2, 0), "stars\n5\n4\n");
  EXPECT_EQ(first_of_each_split("", "reviews.csv", 2, 0), "");
  EXPECT_THAT(test::error_of([] { first_of_each_split("text\n\"no end", "reviews.csv", 2, 0); }),
              HasSubstr("reviews.csv:2"));
}

}  // namespace
}  // namespace hone
