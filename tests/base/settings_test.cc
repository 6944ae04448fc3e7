// Settings of foreign files: what is followed, what changes nothing, and what is refused by its name.
#include "base/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr Setting kKnown[] = {{"rate"}, {"mode", R"("plain" | "fast")"}, {"twice", "false"}};

std::string error(const char* text) {
  return test::error_of([&] { check_settings(parse_json(text, "t"), kKnown, "file.json"); });
}

TEST(Settings, WhatIsFollowedOrSaysNothingPasses) {
  for (const char* text :
       {R"({})", R"({"rate": 3})", R"({"mode": "fast"})", R"({"mode": null})", R"({"twice": false})",
        R"({"other": null})", R"({"other": false})", R"({"other": []})", R"({"other": {}})", R"({"other": ""})"})
    EXPECT_EQ(error(text), "") << text;
  check_settings(Json(), kKnown, "file.json");
}

TEST(Settings, AnythingElseIsRefusedWithItsKeyAndValue) {
  EXPECT_THAT(error(R"({"rate": 1, "other": 4})"), AllOf(HasSubstr("file.json"), HasSubstr("\"other\" is 4")));
  EXPECT_THAT(error(R"({"other": true})"), HasSubstr("\"other\" is true"));
  EXPECT_THAT(error(R"({"other": 0})"), HasSubstr("\"other\" is 0"));
  EXPECT_THAT(error(R"({"mode": "slow"})"), AllOf(HasSubstr("\"slow\""), HasSubstr("\"plain\", \"fast\"")));
  EXPECT_THAT(error(R"({"twice": true})"), HasSubstr("accepted: false"));
}

}  // namespace
}  // namespace hone
