// Objectives and budgets, as texts.
#include "nas/search_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Objective, KnowsWhatIsBetterOfEachFigure) {
  EXPECT_EQ(parse_objective("accuracy").direction, Direction::maximize);
  EXPECT_EQ(parse_objective("f1").direction, Direction::maximize);
  EXPECT_EQ(parse_objective("mse").direction, Direction::minimize);
  for (const char* smaller : {"bits", "bytes", "loss", "latency", "memory", "flops", "parameters"})
    EXPECT_EQ(parse_objective(smaller).direction, Direction::minimize) << smaller;
  EXPECT_EQ(parse_objective("-accuracy").direction, Direction::minimize);
}

TEST(Objective, SumsWithWeights) {
  const Objective o = parse_objective(" accuracy - 0.05*bits + -1e-3 * latency");
  EXPECT_EQ(o.direction, Direction::maximize);
  EXPECT_DOUBLE_EQ(o.value({{"accuracy", 0.9}, {"bits", 4}, {"latency", 10}}), 0.9 - 0.2 - 0.01);
  EXPECT_EQ(parse_objective("bits + 2*loss").direction, Direction::minimize);
  EXPECT_TRUE(parse_objective("bits").is_of("bits"));
  EXPECT_FALSE(o.is_of("accuracy"));
}

TEST(Objective, RefusesWhatContradictsItself) {
  const auto of = [](const char* text) { return error_of([&] { parse_objective(text); }); };
  EXPECT_THAT(of("accuracy + bits"), HasSubstr("opposite directions"));
  EXPECT_THAT(of("accuracy - accuracy"), HasSubstr("opposite directions"));
  EXPECT_THAT(of("acuracy"), HasSubstr("accuracy"));
  EXPECT_THAT(of("latncy"), HasSubstr("Did you mean latency"));
  EXPECT_THAT(of("0*bits"), HasSubstr("counts nothing"));
  EXPECT_THAT(of("x*bits"), HasSubstr("\"x\" is no number"));
  EXPECT_THAT(of("nan*bits"), HasSubstr("no number"));
  for (const char* damaged : {"", "accuracy -", "accuracy - - bits", "*"}) EXPECT_NE(of(damaged), "") << damaged;
}

TEST(FigureLimit, SaysByWhichShareItIsExceeded) {
  const FigureLimit bits = parse_limit("bits<=4");
  EXPECT_DOUBLE_EQ(bits.excess({{"bits", 5}}), 0.25);
  EXPECT_LT(bits.excess({{"bits", 3.9}}), 0);
  EXPECT_DOUBLE_EQ(parse_limit("bytes <= 1.5MB").bound, 1.5e6);
  EXPECT_DOUBLE_EQ(parse_limit("accuracy>=0.8").excess({{"accuracy", 0.6}}), 0.25);
}

TEST(FigureLimit, RefusesLimitsThatLimitNothing) {
  const auto of = [](const char* text) { return error_of([&] { parse_limit(text); }); };
  EXPECT_THAT(of("accuracy<=0.9"), HasSubstr("more is better; give accuracy>="));
  EXPECT_THAT(of("bits>=4"), HasSubstr("give bits<="));
  for (const char* damaged : {"bits", "bits<4", "<=4", "bits<=", "bits<=four", "bits=4"})
    EXPECT_NE(of(damaged), "") << damaged;
}

}  // namespace
}  // namespace hone
