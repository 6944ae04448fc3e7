// Observers on numbers that a person can check, and data that no range can be observed on.
#include "calibrate/observer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/philox.h"
#include "calibrate/ranges.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using Floats = std::vector<float>;

ValueRange range_by(std::string_view name, const std::vector<Floats>& batches, const char* format = "int8") {
  const std::unique_ptr<Observer> observer = make_observer(name, parse_format(format));
  for (const Floats& batch : batches) observer->see(batch);
  return observer->range();
}

// 10^5 values: a ramp from -1 to 1, and a few far away.
Floats ramp_with_outliers(float outlier) {
  Floats values;
  for (int i = 0; i < 99998; ++i) values.push_back(-1 + 2 * static_cast<float>(i) / 99998);
  values.push_back(outlier), values.push_back(-outlier);
  return values;
}

TEST(Observer, MinMaxIsThatOfAllBatchesAndContainsZero) {
  const ValueRange range = range_by("min-max", {{1, 2}, {3, 0.5f}});
  EXPECT_EQ(range.low, 0);
  EXPECT_EQ(range.high, 3);
}

TEST(Observer, MovingAverageGoesAHundredthOfTheWay) {
  const ValueRange range = range_by("moving-average", {{-1, 2}, {-3, 4}});
  EXPECT_FLOAT_EQ(range.low, -1.02f);
  EXPECT_FLOAT_EQ(range.high, 2.02f);
}

TEST(Observer, PercentileLeavesOutFarValuesAndMinMaxDoesNot) {
  const Floats values = ramp_with_outliers(100);
  EXPECT_EQ(range_by("min-max", {values}).high, 100);
  const ValueRange range = range_by("percentile", {values});
  EXPECT_NEAR(range.low, -1, 0.07);  // a bin of 2 * 128 / 4096
  EXPECT_NEAR(range.high, 1, 0.07);
  const ValueRange positive = range_by("percentile", {{0, 1, 2, 3}});
  EXPECT_EQ(positive.low, 0);
  EXPECT_EQ(positive.high, 3);
}

TEST(Observer, MseAndEntropyCutOffWhatIsFarAwayInFewBits) {
  const ValueRange ramp = range_by("mse", {ramp_with_outliers(4)}, "int4");
  EXPECT_LT(ramp.high, 2);
  EXPECT_GT(ramp.high, 0.9f);
  Philox rng(1);
  Floats normal;
  for (int i = 0; i < 20000; ++i) normal.push_back(rng.normal());
  normal.push_back(16), normal.push_back(-16);
  for (const char* name : {"mse", "entropy"}) {
    const ValueRange range = range_by(name, {normal}, "int4");
    EXPECT_LT(range.high, 8) << name;
    EXPECT_GT(range.high, 1.5f) << name;
  }
  for (const char* name : {"mse", "entropy"}) {  // nothing is to be won by cutting a ramp off
    const ValueRange range = range_by(name, {Floats{-1, -0.5, 0, 0.25, 0.5, 0.75, 1}}, "uint8.asym");
    EXPECT_GT(range.high, 0.95f) << name;
  }
}

TEST(Observer, TheOrderAndCutOfBatchesChangesNothing) {
  const Floats values = ramp_with_outliers(3);
  const std::vector<Floats> parts{{values.end() - 2, values.end()}, {0}, {values.begin(), values.end() - 2}};
  for (const char* name : {"min-max", "percentile", "mse", "entropy"}) {
    Floats whole = values;
    whole.push_back(0);
    const ValueRange a = range_by(name, {whole}), b = range_by(name, parts);
    EXPECT_EQ(a.low, b.low) << name;
    EXPECT_EQ(a.high, b.high) << name;
  }
}

TEST(Observer, ZerosAndTinyValuesHaveARange) {
  for (const ObserverDef& def : observers()) {
    SCOPED_TRACE(def.name);
    const ValueRange none = range_by(def.name, {{0, 0}});
    EXPECT_EQ(none.low, 0);
    EXPECT_EQ(none.high, 0);
    const ValueRange tiny = range_by(def.name, {{0, 0, 1e-42f, -1e-42f}, {0}});
    EXPECT_LE(tiny.high, 1e-42f);
    const ValueRange large = range_by(def.name, {{std::numeric_limits<float>::max(), -1}});
    EXPECT_TRUE(std::isfinite(large.high));
  }
}

TEST(Observer, AnUnknownNameListsTheOthers) {
  const std::string error = test::error_of([] { make_observer("minmax", parse_format("int8")); });
  EXPECT_NE(error.find("moving-average"), std::string::npos) << error;
  EXPECT_NE(error.find("min-max"), std::string::npos) << error;
}

class ObservedRanges : public testing::Test {
 protected:
  ObservedRanges()
      : graph_(
            test::parse("%x : f32[B,2] = input \"x\"\n%s : f32[] = const {2}\n%y = mul %x, %s\nreturn %y as \"y\"")) {
    input_.value = graph_.outputs()[0].value;
    input_.format = parse_format("int8"), input_.observer = "min-max";
  }
  std::vector<ValueRange> on(const std::vector<NamedTensors>& batches) {
    return observed_ranges(graph_, {&input_, 1}, batches);
  }
  std::string error_on(const std::vector<NamedTensors>& batches) {
    return test::error_of([&] { on(batches); });
  }
  static NamedTensors batch(std::vector<int64_t> shape, const Floats& values) {
    return {{"x", Tensor::of<float>(std::move(shape), values)}};
  }

  Graph graph_;
  ObservedInput input_;
};

TEST_F(ObservedRanges, AreThoseOfTheValueInTheGraph) {
  const ValueRange range = on({batch({1, 2}, {1, -3}), batch({2, 2}, {0, 4, 1, 1})})[0];
  EXPECT_EQ(range.low, -6);
  EXPECT_EQ(range.high, 8);
}

TEST_F(ObservedRanges, BadDataAreErrors) {
  EXPECT_NE(error_on({}).find("no batches"), std::string::npos);
  EXPECT_NE(error_on({batch({0, 2}, {})}).find("no elements"), std::string::npos);
  EXPECT_NE(error_on({batch({1, 3}, {1, 2, 3})}), "") << "the wrong shape";
  EXPECT_NE(error_on({batch({1, 2}, {1, std::nanf("")})}).find("nan"), std::string::npos);
  EXPECT_NE(error_on({batch({1, 2}, {1, std::numeric_limits<float>::infinity()})}).find("inf"), std::string::npos);
  EXPECT_NE(error_on({NamedTensors{{"z", Tensor::scalar<float>(1)}}}), "") << "another input";
  input_.observer = "median";
  EXPECT_NE(error_on({batch({1, 2}, {1, 2})}).find("unknown observer median"), std::string::npos);
}

}  // namespace
}  // namespace hone
