// What mase-cuda's kernel makes of each mantissa and scale, and how it cuts its work.
#include "io/mase/mxint8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace hone {
namespace {

using testing::HasSubstr;

TEST(Mxint8Kernel, TheLeadingOneIsThereOrIsTakenOff) {
  const Mxint8Decoding half = mxint8_decoding(32, 127), one = mxint8_decoding(64, 127),
                       least = mxint8_decoding(0xff, 127);
  EXPECT_FALSE(half.dont_need_abs);
  EXPECT_EQ(half.packed, 0x3fc0);  // 1.5
  EXPECT_EQ(half.bias, 0x3f80);    // 1
  EXPECT_EQ(half.value, 0.5f);
  EXPECT_TRUE(one.dont_need_abs);
  EXPECT_EQ(one.packed, 0x3f80);
  EXPECT_EQ(one.value, 1);
  EXPECT_EQ(least.sign, 0x8000);
  EXPECT_EQ(least.value, -1.0f / 64);
}

TEST(Mxint8Kernel, AllPairsAreThoseOfTheFormat) {
  const Mxint8Pairs pairs = compare_mxint8_pairs();
  EXPECT_EQ(pairs.pairs, 65536);
  EXPECT_EQ(pairs.same_bits, 65536);
}

// docs/FORMATS.md, section 7: 509 of the 65,280 pairs with a finite scale.
TEST(Mxint8Kernel, ThreePlacesLeaveTheFormula) {
  const Mxint8Pairs pairs = compare_mxint8_pairs();
  ASSERT_EQ(pairs.departures.size(), 3);
  EXPECT_EQ(pairs.departures[0].where, "scale 0");
  EXPECT_EQ(pairs.departures[0].pairs, 255);
  EXPECT_EQ(pairs.departures[1].where, "mantissa -128");
  EXPECT_EQ(pairs.departures[1].pairs, 254);
  EXPECT_EQ(pairs.departures[1].kernel, 0);
  EXPECT_EQ(pairs.departures[2].where, "scale 255");
  EXPECT_EQ(pairs.departures[2].pairs, 2);  // of magnitude 64: infinities where the formula has NaN
  EXPECT_EQ(pairs.by_formula, 65536 - 255 - 254 - 2);
}

TEST(Mxint8Kernel, TilesHoldAThousandElements) {
  const auto tiling = [](int64_t group, int64_t groups) {
    const Mxint8Tiling t = mxint8_tiling(group, groups);
    return std::vector<int64_t>{t.tile_elements, t.tile_groups, t.grid_x, t.grid_y, t.shared_bytes};
  };
  EXPECT_EQ(tiling(4, 1), (std::vector<int64_t>{8, 128, 1, 1, 1152}));
  EXPECT_EQ(tiling(32, 65536), (std::vector<int64_t>{32, 32, 1, 2048, 1056}));
  EXPECT_EQ(tiling(33, 65), (std::vector<int64_t>{64, 16, 1, 5, 1040}));
  EXPECT_EQ(tiling(512, 9), (std::vector<int64_t>{128, 8, 4, 2, 1032}));
  EXPECT_THAT(test::error_of([] { mxint8_tiling(0, 1); }), HasSubstr("at least one"));
}

}  // namespace
}  // namespace hone
