#include "ship/promise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using testing::HasSubstr;

TEST(Promise, IsReadAsUsersWriteIt) {
  const Promises p = parse_promises("2MB", "5ms", "1%", "91%");
  EXPECT_EQ(p.max_bytes, 2e6);
  EXPECT_EQ(p.max_latency->value, 5);
  EXPECT_FALSE(p.max_latency->is_share);
  EXPECT_TRUE(p.max_drop->percent);
  EXPECT_EQ(p.min_metric, 0.91);
  EXPECT_EQ(parse_promises("", "0.5s", "", "").max_latency->value, 500);
  EXPECT_TRUE(parse_promises("", "0.7x", "", "").max_latency->is_share);
  EXPECT_EQ(parse_promises("", "", "", "-3.5").min_metric, -3.5);
  EXPECT_FALSE(parse_promises("", "", "", "").any());
}

TEST(Promise, OtherTextsAreRefusedByTheirOption) {
  for (const char* text : {"small", "0", "-2MB", "2 apples"})
    EXPECT_THAT(error_of([&] { parse_promises(text, "", "", ""); }), HasSubstr("--max-size")) << text;
  for (const char* text : {"5", "fast", "0ms", "-1x", "5 hours"})
    EXPECT_THAT(error_of([&] { parse_promises("", text, "", ""); }), HasSubstr("--max-latency")) << text;
  for (const char* text : {"most", "91 points", "nan"})
    EXPECT_THAT(error_of([&] { parse_promises("", "", "", text); }), HasSubstr("--min-metric")) << text;
}

constexpr double kAccuracy = 0.9;
const FigureKind kShare{"accuracy", true, true};

AnswerQuality lost(double points, std::optional<Interval> ci95 = std::nullopt) {
  AnswerQuality q{.figure = Estimate{.value = kAccuracy - points}, .difference = Difference{.value = -points}};
  q.difference->ci95 = ci95;
  return q;
}

TEST(Promise, OfAMetricIsKeptWithRoomForChance) {
  const Promises p = parse_promises("", "", "1%", "");
  EXPECT_TRUE(keeps_quality(p, lost(0.01), lost(0), kShare));
  EXPECT_FALSE(keeps_quality(p, lost(0.011), lost(0), kShare));
  EXPECT_TRUE(keeps_quality(p, lost(0.002, Interval{-0.01, 0}), lost(0), kShare));   // 0.2 + half of 0.8 points
  EXPECT_FALSE(keeps_quality(p, lost(0.006, Interval{-0.02, 0}), lost(0), kShare));  // 0.6 + half of 1.4 points
  EXPECT_FALSE(keeps_quality(p, lost(NAN), lost(0), kShare));
}

TEST(Promise, OfALeastValueIsSeenFromTheOriginal) {
  const Promises p = parse_promises("", "", "", "0.88");
  EXPECT_NEAR(allowed_loss(p, lost(0), kShare), 0.02, 1e-12);
  EXPECT_TRUE(keeps_quality(p, lost(0.02), lost(0), kShare));
  EXPECT_FALSE(keeps_quality(p, lost(0.021), lost(0), kShare));
}

TEST(Promise, OfMetricsWhereSmallerIsNearerLossIsWhatIsAdded) {
  const FigureKind mse{"mean squared error", false, false};
  AnswerQuality q{.figure = Estimate{.value = 1.25}, .difference = Difference{.value = 0.25}};
  q.difference->ci95 = Interval{0.1, 0.5};
  const Loss loss = loss_of(q, mse);
  EXPECT_EQ(loss.value, 0.25);
  EXPECT_EQ(loss.at_most, 0.5);
}

TEST(Promise, OfTimeIsKeptByTheWholeInterval) {
  const Speed speed{.ms = 4, .original_ms = 8, .ms_ci95 = {3.8, 5.1}, .share = 0.5, .share_ci95 = {0.4, 0.6}};
  EXPECT_FALSE(keeps({5, false}, speed));
  EXPECT_TRUE(keeps({5.2, false}, speed));
  EXPECT_TRUE(keeps({0.7, true}, speed));
  EXPECT_FALSE(keeps({0.55, true}, speed));
}

}  // namespace
}  // namespace hone
