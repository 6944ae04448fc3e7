#include "base/nearest_part.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(NearestPart, DistanceIsToTheBestPart) {
  EXPECT_EQ(part_distance("layer", "encoder.layer.0"), 0);
  EXPECT_EQ(part_distance("layr", "encoder.layer.0"), 1);
  EXPECT_EQ(part_distance("abc", ""), 3);
}

TEST(NearestPart, LiteralPartLeavesOutWhatStandsForOthers) {
  EXPECT_EQ(literal_part(R"(^layer\.[0-9]+\.out\d$)"), "layer..out");
  EXPECT_EQ(literal_part("(a|b)*c{2,3}["), "abc");
}

TEST(NearestPart, NamesThatAPatternMayHaveMeant) {
  const std::vector<std::string> names{"encoder.layer.0.query", "embeddings.word", "pooler.dense"};
  EXPECT_EQ(did_you_mean_part(R"(layr\.0)", names), ". Did you mean encoder.layer.0.query?");
  EXPECT_EQ(did_you_mean_part("completely.else", names), "");
  EXPECT_EQ(did_you_mean_part(".*", names), "");
}

}  // namespace
}  // namespace hone
