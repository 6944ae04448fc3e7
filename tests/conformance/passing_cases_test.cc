#include "tests/conformance/passing_cases.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

using test::CaseSource;
using test::PassingCases;
using test::RanCases;

RanCases ran(std::map<std::string, OnnxCase::Result> results) {
  RanCases cases;
  for (const auto& [name, result] : results) cases[name] = {.name = name, .result = result};
  return cases;
}

TEST(PassingCases, AreReadAsTheyAreWritten) {
  const PassingCases passing{{"own", {"a", "b"}}, {"package-1.0", {"node/a"}}};
  EXPECT_EQ(test::parse_passing(test::print_passing(passing)), passing);
}

TEST(PassingCases, OfARecordedSourcePassAndNoOthers) {
  using enum OnnxCase::Result;
  const PassingCases passing{{"own", {"a", "b"}}, {"package-1.0", {"c"}}};
  const auto faults = [&](std::map<std::string, OnnxCase::Result> results) {
    return test::compare_with(passing, {"own", ""}, ran(std::move(results))).faults;
  };
  EXPECT_EQ(faults({{"a", pass}, {"b", pass}, {"x", unsupported}, {"y", skipped}}), "");
  EXPECT_EQ(faults({{"a", pass}, {"b", unsupported}}),
            "\n  own b: it passed when it was recorded, and is now: unsupported");
  EXPECT_EQ(faults({{"a", pass}, {"b", pass}, {"c", pass}}), "\n  own c: not recorded yet: pass");
  EXPECT_EQ(faults({{"a", pass}, {"b", pass}, {"c", wrong}}), "\n  own c: wrong");
  EXPECT_EQ(faults({{"a", pass}}), "\n  own b: is not there");
}

TEST(PassingCases, OfAnotherVersionPassWhereTheyAreThereAndTheOthersAreTold) {
  using enum OnnxCase::Result;
  const PassingCases passing{{"own", {"z"}}, {"package-1.0", {"a", "b"}}};
  const CaseSource other{"package", "2.0"};
  const test::PassingReport report =
      test::compare_with(passing, other, ran({{"a", pass}, {"c", pass}, {"d", pass}, {"e", wrong}}));
  EXPECT_EQ(report.faults, "");
  EXPECT_EQ(report.notes,
            "\n  package-2.0 e: wrong"
            "\n  package-2.0: 2 cases that were never recorded are: pass"
            "\n  package-2.0: 1 cases that were never recorded are: wrong");
  EXPECT_EQ(test::compare_with(passing, other, ran({{"a", skipped}})).faults,
            "\n  package-2.0 a: it passed when it was recorded, and is now: skipped");
  EXPECT_NE(test::compare_with({}, {"own", ""}, ran({{"a", pass}})).faults, "") << "an empty list lets nothing through";
}

}  // namespace
}  // namespace hone
