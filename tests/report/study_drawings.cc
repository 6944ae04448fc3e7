#include "report/study_drawings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/report/xml_check.h"

namespace hone {
namespace {

using testing::HasSubstr;

TEST(BestSoFar, DrawsMediansWithTheirSpread) {
  const Drawing d =
      best_so_far_drawing("b", {.title = "accuracy"},
                          {{"tpe <x>", {{0.1, 0.5, 0.9}, {0.2, 0.4, 0.8, 0.8}, {0.3, 0.6, 0.7}}}, {"random", {{0.2}}}});
  EXPECT_EQ(xml_fault(d.svg), "");
  EXPECT_THAT(d.description, HasSubstr("tpe <x>: 0.8000 after 3 trials, median of 3 seeds"));
  EXPECT_THAT(d.svg, HasSubstr("opacity=\"0.18\""));  // the band of the first
  EXPECT_THAT(d.svg, HasSubstr("tpe &lt;x&gt;"));
  EXPECT_EQ(xml_fault(best_so_far_drawing("b", {.title = "x"}, {{"none", {{}}}}).svg), "");
}

TEST(Parallel, LeavesGapsWhereATrialLacksAParameter) {
  const Drawing d = parallel_drawing("p", "P", {{"rate", {}, true}, {"format", {"int4", "int8"}}, {"accuracy"}},
                                     {{{0.1, 1, 0.5}, 1}, {{0.01, std::nan(""), 0.4}, 0}});
  EXPECT_EQ(xml_fault(d.svg), "");
  EXPECT_THAT(d.svg, HasSubstr("int8"));
  EXPECT_THAT(d.svg, HasSubstr("#d05a1e"));  // the best, warm
  EXPECT_THAT(d.svg, HasSubstr("#6b8fc9"));  // the worst, cool
  EXPECT_EQ(xml_fault(parallel_drawing("p", "P", {}, {}).svg), "");
}

TEST(Timeline, PutsTrialsThatOverlapIntoLanes) {
  const Drawing d =
      timeline_drawing("t", {{0, 2, "complete", "trial 0"}, {1, 3, "failed", "trial 1"}, {2, 4, "pruned", "a & b"}});
  EXPECT_EQ(xml_fault(d.svg), "");
  EXPECT_THAT(d.description, HasSubstr("3 trials, up to 2 at once"));
  EXPECT_THAT(d.svg, HasSubstr("a &amp; b"));
}

}  // namespace
}  // namespace hone
