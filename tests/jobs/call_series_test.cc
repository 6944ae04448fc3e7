// One series of calls, and what is read off it.
#include "jobs/call_series.h"

#include "report/json.h"
#include "tests/jobs/jobs_fixture.h"
#include "views/call_series.h"

namespace hone {
namespace {

using testing::HasSubstr;

class Calls : public JobsTest {
 protected:
  Model net() const { return load_model(put_graph("net.safetensors", kSliced)); }
};

TEST_F(Calls, MeansAreOfTheFirstOrOfThoseAfterWarmUp) {
  CallSeries series{.way = "compiled"};
  for (int i = 0; i < 40; ++i) series.calls_ns.push_back(i < 10 ? 100 : 10);
  EXPECT_EQ(series.mean_ns(5, false), 100);
  EXPECT_EQ(series.mean_ns(20, false), 55);
  EXPECT_EQ(series.mean_ns(20, true), 10);
  EXPECT_THROW(series.mean_ns(31, true), Bug);
}

TEST_F(Calls, TheFirstHasWhatMakesTheSession) {
  const CallsResult result = call_series(net(), {}, 30);
  for (const CallSeries& way : result.ways) {
    ASSERT_EQ(way.calls_ns.size(), 30);
    EXPECT_GT(way.cost.compile, 0) << way.way;
    EXPECT_NEAR(way.calls_ns[0] * 1e-9, way.cost.compile + way.cost.prepack + way.cost.first, 1e-9) << way.way;
    EXPECT_GT(way.calls_ns[0] * 1e-9, way.cost.compile);
  }
  EXPECT_EQ(result.ways[0].way, "uncompiled");
  EXPECT_EQ(result.ratio.rounds, 20);
}

TEST_F(Calls, TheRecordHasReadingsPartsAndEveryCall) {
  const Json json = to_json(view_of(call_series(net(), {}, 30)));
  std::vector<std::string> readings;
  for (const Json& row : json.at("readings")) readings.push_back(row.at("reading"));
  EXPECT_THAT(readings,
              testing::ElementsAre("5 calls, without warm-up", "20 calls, without warm-up", "30 calls, without warm-up",
                                   "5 calls, with warm-up", "20 calls, with warm-up"));
  EXPECT_EQ(json.at("calls").size(), 30);
  EXPECT_EQ(json.at("first").size(), 4);
  EXPECT_GT(json.at("compiling").at("ratio").get<double>(), 0);
  EXPECT_TRUE(json.at("compiling").contains("pays_after"));
  double mean = 0;
  for (size_t i = 0; i < 5; ++i) mean += json.at("calls")[i].at("compiled_ms").get<double>() / 5;
  EXPECT_NEAR(json.at("readings")[0].at("compiled_ms").get<double>(), mean, 1e-3 * mean);
}

TEST_F(Calls, TooFewAreRefused) {
  EXPECT_THAT(test::error_of([&] { call_series(net(), {}, 19); }), HasSubstr("--calls 19: at least 20"));
}

}  // namespace
}  // namespace hone
