// Tasks on models, from values to typed results.
#include <hone/bench.h>
#include <hone/train.h>

#include "tests/api/error_of.h"

namespace {

using api_test::error_of;
using testing::HasSubstr;

hone::Model product(const std::string& op) {
  return hone::Model(hone::Graph::parse("graph g {\n  %x : f32[8,8] = input \"x\"\n  %y = " + op +
                                        " %x, %x\n  return %y as \"y\"\n}"));
}

TEST(ApiBench, TimesModelsInTurnAndComparesThemWithTheFirst) {
  hone::BenchOptions options;
  options.seconds = 0.05;
  options.no_cache = true;
  const hone::BenchResult result = hone::bench({product("matmul"), product("matmul")}, options);
  ASSERT_EQ(result.models.size(), 2u);
  EXPECT_FALSE(result.models[0].comparison);
  ASSERT_TRUE(result.models[1].comparison);
  EXPECT_TRUE(result.models[1].comparison->may_claim);
  EXPECT_GT(result.models[0].median_ns, 0);
  EXPECT_EQ(result.models[0].samples_ns.size(), result.models[1].samples_ns.size());
}

TEST(ApiTasks, WithoutModelsOrDataTheyAreRefused) {
  EXPECT_THAT(error_of([] { hone::bench({}, {}); }), HasSubstr("no model"));
  EXPECT_THAT(error_of([] { hone::evaluate({}, {}); }), HasSubstr("no model"));
  EXPECT_NE(error_of([] { hone::evaluate({product("add")}, {}); }), "");
  EXPECT_NE(error_of([] { hone::train(product("add"), {}); }), "");
  hone::BenchOptions options;
  options.seconds = -1;
  EXPECT_THAT(error_of([&] { hone::bench({product("add")}, options); }), HasSubstr("seconds"));
}

TEST(ApiTasks, ACancelledOneEnds) {
  EXPECT_THROW(hone::bench({product("add")}, {}, {.cancelled = [] { return true; }}), hone::Cancelled);
}

}  // namespace
