#include "base/regex.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;

TEST(Regex, SearchesForAPartAndMatchesTheWhole) {
  const Regex regex("l[ae]yer\\.\\d+");
  EXPECT_TRUE(regex.search("encoder.layer.12.weight"));
  EXPECT_FALSE(regex.matches("encoder.layer.12.weight"));
  EXPECT_TRUE(regex.matches("layer.12"));
  EXPECT_FALSE(regex.search("layer"));
}

TEST(Regex, TakesLinearTimeOverTextsOfAnyLength) {
  const std::string text(4'000'000, 'a');
  EXPECT_FALSE(Regex("(a|b)*c").search(text));
  EXPECT_FALSE(Regex("(a*)*b").matches(text));
  EXPECT_FALSE(Regex(".*b").search(text));
}

TEST(Regex, SaysWhatIsWrongWithAPattern) {
  EXPECT_NE(error_of([] { Regex("(a"); }).find("missing"), std::string::npos);
  for (const std::string& pattern : {std::string("a{1001}"), std::string("((a{100}){100}){100}"),
                                     std::string(100'000, '('), std::string("(a)\\1"), std::string("\xff")})
    EXPECT_NE(error_of([&] { Regex{pattern}; }).find("is not a regular expression"), std::string::npos);
}

}  // namespace
}  // namespace hone
