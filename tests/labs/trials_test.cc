#include "labs/trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const std::string kTrials =
    "number,state,accuracy,parameter format.fc1,attribute figures\n"
    "0,COMPLETE,0.5,int8,\"{\"\"accuracy\"\": 0.5, \"\"bits\"\": 8.0}\"\n"
    "1,FAIL,,int2,\n"
    "2,COMPLETE,0.9,keep,\"{\"\"accuracy\"\": 0.9, \"\"bits\"\": 32.0}\"\n"
    "3,COMPLETE,0.7,int4,\"{\"\"accuracy\"\": 0.7, \"\"bits\"\": 4.0}\"\n";

TEST(Trials, AreTheCompleteRowsWithTheirFiguresAndParameters) {
  const auto trials = parse_trials(kTrials, "study");
  ASSERT_EQ(trials.size(), 3u);
  EXPECT_EQ(trials[1].number, 2);
  EXPECT_EQ(trials[1].figure("bits"), 32);
  EXPECT_THAT(trials[2].parameters, ElementsAre(Pair("format.fc1", "int4")));
}

TEST(Trials, TheHighestSoFarIsOfTheRewardAndItsAccuracyMayFall) {
  const auto trials = parse_trials(kTrials, "study");
  EXPECT_EQ(highest(trials).number, 2);
  EXPECT_EQ(highest(trials, 0.05).number, 3);  // 0.5 - 0.4, 0.9 - 1.6, 0.7 - 0.2
  EXPECT_THAT(curve_so_far("a", trials, Curve::accuracy).points, ElementsAre(Pair(1, 0.5), Pair(2, 0.9), Pair(3, 0.9)));
  EXPECT_THAT(curve_so_far("a", trials, Curve::accuracy, 0.05).points,
              ElementsAre(Pair(1, 0.5), Pair(2, 0.5), Pair(3, 0.7)));
}

TEST(Trials, WhatIsNoListOfTrialsIsRefused) {
  EXPECT_EQ(error_of([] { parse_trials("", "study"); }), "study: no trials");
  EXPECT_EQ(error_of([] { parse_trials("number,state\n0,FAIL\n", "study"); }), "study: no trial is complete");
  EXPECT_THAT(error_of([] { parse_trials("number,state\n0\n", "study"); }), HasSubstr("study:2: the row has 1 cells"));
  EXPECT_THAT(error_of([] { parse_trials("a,\"b", "study"); }), HasSubstr("study:1: a cell in quotes does not end"));
}

}  // namespace
}  // namespace hone
