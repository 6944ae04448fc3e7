#include "base/duration.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Duration, IsReadInItsUnits) {
  EXPECT_EQ(parse_seconds("20"), 20);
  EXPECT_EQ(parse_seconds("1.5 min"), 90);
  EXPECT_EQ(parse_seconds("500ms"), 0.5);
  EXPECT_EQ(parse_seconds("1h"), 3600);
  EXPECT_EQ(parse_seconds("1e300h"), 1e9);
  for (const char* text : {"", "0", "-3s", "nan", "soon", "3 days", "s"}) EXPECT_FALSE(parse_seconds(text)) << text;
}

TEST(Duration, IsWrittenInTwoUnitsAtMost) {
  EXPECT_EQ(duration_text(0.01), "10 ms");
  EXPECT_EQ(duration_text(0.84), "0.8 s");
  EXPECT_EQ(duration_text(42.3), "42 s");
  EXPECT_EQ(duration_text(59.6), "1 min 0 s");
  EXPECT_EQ(duration_text(252), "4 min 12 s");
  EXPECT_EQ(duration_text(3900), "1 h 5 min");
}

}  // namespace
}  // namespace hone
