#include "study/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "study/python_json.h"
#include "study/timestamp.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using testing::HasSubstr;

Json tree(const char* json) { return parse_json(json, "test"); }
std::string space_error(const char* json) {
  return error_of([&] { parse_space(tree(json), "s.toml"); });
}

TEST(Distributions, AreWrittenAsOptunaWritesThem) {
  EXPECT_EQ(real_distribution("x", 1e-5, 0.1, 0, true).json(),
            R"({"name": "FloatDistribution", "attributes": {"step": null, "low": 1e-05, "high": 0.1, "log": true}})");
  EXPECT_EQ(integer_distribution("n", 1, 10).json(),
            R"({"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 10}})");
  EXPECT_EQ(
      category_distribution("c", {"a", nullptr, true, 1, 2.5, "\u00e9\"z"}).json(),
      R"({"name": "CategoricalDistribution", "attributes": {"choices": ["a", null, true, 1, 2.5, "\u00e9\"z"]}})");
}

TEST(Distributions, AreReadAsTheyAreWritten) {
  for (const Distribution& d : {real_distribution("x", -1, 2, 0.25), real_distribution("x", 1e-300, 1e300, 0, true),
                                integer_distribution("x", -4, 4, 2), integer_distribution("x", 1, 64, 1, true),
                                category_distribution("x", {1, 2.0, "1", nullptr, false})})
    EXPECT_EQ(parse_distribution(d.json(), "x", "test"), d) << d.json();
}

std::string of_integers(const std::string& range) {
  return R"({"name": "IntDistribution", "attributes": {"log": false, "step": 1, )" + range + "}}";
}

TEST(Distributions, IntegersBeyondTheExactOnesAreReadAndWrittenAsTheyAre) {
  for (const char* range : {R"("low": 0, "high": 4611686018427387904)", R"("low": 0, "high": 9223372036854775807)",
                            R"("low": -9223372036854775808, "high": 9007199254740993)",
                            R"("low": 1, "high": 18446744073709551615)", R"("low": 1, "high": 18446744073709551616)"}) {
    const Distribution d = parse_distribution(of_integers(range), "seed", "t.db");
    EXPECT_EQ(d.json(), of_integers(range));
    EXPECT_FALSE(d.is_exact());
    EXPECT_EQ(d.size(), 0);
  }
  const Distribution d = parse_distribution(of_integers(R"("low": 0, "high": 18446744073709551616)"), "seed", "t.db");
  EXPECT_EQ(d.describe(), "int 0 to 18446744073709551616");
  EXPECT_EQ(d.text(0x1p64), "18446744073709551616");
  EXPECT_EQ(d.outside(0x1p63), uint64_t{1} << 63);
  EXPECT_TRUE(parse_distribution(of_integers(R"("low": 0, "high": 9007199254740992)"), "n", "t").is_exact());
}

TEST(Distributions, WhatCannotBeReadIsNamed) {
  const auto said = [](const std::string& text) { return error_of([&] { parse_distribution(text, "seed", "t.db"); }); };
  EXPECT_THAT(said(of_integers(R"("low": 5, "high": 3)")), HasSubstr("t.db: parameter seed: low 5 is above high 3"));
  EXPECT_THAT(said(of_integers(R"("low": 0.5, "high": 1e300)")), HasSubstr("t.db: parameter seed: expected a whole"));
  EXPECT_THAT(said(R"({"name": "Odd", "attributes": {}})"),
              HasSubstr("t.db: parameter seed: unknown distribution Odd"));
  const auto choices = [](const char* list) {
    return std::string(R"({"name": "CategoricalDistribution", "attributes": {"choices": [)") + list + "]}}";
  };
  EXPECT_THAT(said(choices("1, 36893488147419103233")), HasSubstr("whole number beyond 64 bits"));
  EXPECT_EQ(said(choices("1, 1e+20, 18446744073709551615, -9223372036854775808")), "");
}

TEST(Distributions, ChoicesAreShownByTheirValuesNotTheirPlaces) {
  const Distribution shares = category_distribution("prune.sparsity", {0.5, 0.75, 1e-5, 2, "keep", nullptr, true});
  std::vector<std::string> shown;
  for (int64_t i = 0; i < shares.size(); ++i) shown.push_back(shares.text(shares.value_at(i)));
  EXPECT_EQ(shown, (std::vector<std::string>{"0.5", "0.75", "1e-05", "2", "keep", "null", "true"}));
  const Distribution alike = category_distribution("rate", {0.1234567, 0.1234568});
  EXPECT_NE(alike.text(0), alike.text(1));
  EXPECT_EQ(real_distribution("rate", 0, 1).text(0.25), "0.25");
}

TEST(Distributions, OldNamesAreRead) {
  EXPECT_EQ(parse_distribution(R"({"name":"LogUniformDistribution","attributes":{"low":0.1,"high":1}})", "x", "t"),
            real_distribution("t", 0.1, 1, 0, true));
  EXPECT_EQ(parse_distribution(R"({"name":"DiscreteUniformDistribution","attributes":{"low":0,"high":1,"q":0.25}})",
                               "x", "t"),
            real_distribution("t", 0, 1, 0.25));
  EXPECT_EQ(
      parse_distribution(R"({"name":"IntUniformDistribution","attributes":{"low":1,"high":9,"step":4}})", "x", "t"),
      integer_distribution("t", 1, 9, 4));
}

TEST(Distributions, HighIsLoweredToTheLastStep) {
  EXPECT_EQ(real_distribution("x", 0, 1, 0.3).high, 0.9);
  EXPECT_EQ(integer_distribution("n", 1, 10, 4).high, 9);
  EXPECT_EQ(real_distribution("x", 0, 1, 0.3).size(), 4);
  EXPECT_EQ(real_distribution("x", 0, 1, 0.3).value_at(3), 0.9);
}

TEST(Distributions, RangesThatHoldNothingAreRefused) {
  EXPECT_THAT(error_of([] { real_distribution("x", 2, 1); }), HasSubstr("parameter x: low 2 is above high 1"));
  EXPECT_THAT(error_of([] { real_distribution("x", 0, 1, 0, true); }), HasSubstr("has no logarithm"));
  EXPECT_THAT(error_of([] { real_distribution("x", 1, 2, 0.5, true); }), HasSubstr("step and log"));
  EXPECT_THAT(error_of([] { real_distribution("x", 0, INFINITY); }), HasSubstr("finite"));
  EXPECT_THAT(error_of([] { real_distribution("x", 0, NAN); }), HasSubstr("finite"));
  EXPECT_THAT(error_of([] { integer_distribution("n", 0, 8, 1, true); }), HasSubstr("1 or more"));
  EXPECT_THAT(error_of([] { integer_distribution("n", 0, 8, 0); }), HasSubstr("step 0"));
  EXPECT_THAT(error_of([] { integer_distribution("n", 0, int64_t{1} << 60); }), HasSubstr("2^53"));
  EXPECT_THAT(error_of([] { category_distribution("c", {}); }), HasSubstr("no choices"));
  EXPECT_THAT(error_of([] { category_distribution("c", {"a", "b", "a"}); }), HasSubstr("twice"));
  EXPECT_THAT(error_of([] { category_distribution("c", {Json::array()}); }), HasSubstr("no text, number"));
}

TEST(PythonJson, KeepsWhatJsonHasNoWordsFor) {
  const Json value = parse_python_json(R"({"a": NaN, "b": [Infinity, -Infinity], "c": "NaN, \" Infinity"})", "test");
  EXPECT_TRUE(std::isnan(value["a"].get<double>()));
  EXPECT_EQ(value["b"][1].get<double>(), -INFINITY);
  EXPECT_EQ(value["c"], "NaN, \" Infinity");
  EXPECT_EQ(python_json(value), R"({"a": NaN, "b": [Infinity, -Infinity], "c": "NaN, \" Infinity"})");
  EXPECT_EQ(python_json(parse_json(R"([1.0, 1e-05, 100000.0, 1e16, 3])", "t"), JsonSpacing::compact),
            "[1.0,1e-05,100000.0,1e+16,3]");
}

TEST(Timestamps, AreReadInBothForms) {
  const int64_t us = 1795514153261289;
  EXPECT_EQ(sql_time(us), "2026-11-24 09:55:53.261289");
  EXPECT_EQ(parse_time(sql_time(us)), us);
  EXPECT_EQ(parse_time(iso_time(us)), us);
  EXPECT_EQ(parse_time("2026-11-24T18:55:53.261289+09:00"), us);
  EXPECT_EQ(parse_time("2026-11-24 09:55:53"), us - 261289);
  for (const char* bad : {"", "2026", "2026-13-01 00:00:00", "2026-11-24 25:00:00", "2026-11-24 09:55:53.", "x",
                          "2026-11-24 09:55:53 tomorrow"})
    EXPECT_EQ(parse_time(bad), std::nullopt) << bad;
}

TEST(Spaces, AreReadFromATree) {
  const Space space = parse_space(tree(R"({
    "constraints": ["2*depth + width <= 20"],
    "parameters": {
      "group": {"choices": [32, 128], "when": {"format": "int4"}},
      "rate": {"low": 1e-5, "high": 1e-1, "log": true},
      "depth": {"low": 2, "high": 12, "step": 2},
      "width": {"low": 1, "high": 16},
      "format": ["mxint4", "int4"],
      "value": {"same_as": "format"}}})"),
                                  "s.toml");
  ASSERT_EQ(space.parameters().size(), 5U);
  EXPECT_EQ(space.find("depth")->distribution, integer_distribution("depth", 2, 12, 2));
  EXPECT_EQ(space.find("rate")->distribution.kind, DistributionKind::real);
  const auto ptr = [&](const char* name) {
    return std::make_shared<const Distribution>(space.find(name)->distribution);
  };
  std::vector<TrialParameter> chosen{
      {"format", 0, ptr("format")}, {"depth", 8, ptr("depth")}, {"width", 4, ptr("width")}};
  EXPECT_FALSE(space.is_active(*space.find("group"), chosen));
  EXPECT_EQ(space.violation(chosen), 0);
  EXPECT_EQ(space.values(chosen)["value"], "mxint4");
  chosen[0].value = 1;
  chosen[2].value = 7;
  EXPECT_TRUE(space.is_active(*space.find("group"), chosen));
  EXPECT_EQ(space.violation(chosen), 3);
}

TEST(Spaces, FaultsSayWhereAndWhat) {
  EXPECT_THAT(space_error(R"({"parameters": {}})"), HasSubstr("nothing to search"));
  EXPECT_THAT(space_error(R"({"parameter": {}})"), HasSubstr("unknown key parameter"));
  EXPECT_THAT(space_error(R"({"parameters": {"a": {"low": 3, "high": 1}}})"), HasSubstr("low 3 is above high 1"));
  EXPECT_THAT(space_error(R"({"parameters": {"a": {"lo": 3, "high": 1}}})"), HasSubstr("parameter a: unknown key lo"));
  EXPECT_THAT(space_error(R"({"parameters": {"a": 3}})"), HasSubstr("expected a table"));
  EXPECT_THAT(space_error(R"({"parameters": {"a": [1], "b": {"choices": [1], "when": {"c": 1}}}})"),
              HasSubstr("unknown parameter c"));
  EXPECT_THAT(space_error(R"({"parameters": {"a": [1], "b": {"choices": [1], "when": {"a": 2}}}})"),
              HasSubstr("2 is none of its choices"));
  EXPECT_THAT(
      space_error(
          R"({"parameters": {"a": {"choices": [1], "when": {"b": 1}}, "b": {"choices": [1], "when": {"a": 1}}}})"),
      HasSubstr("circle"));
  EXPECT_THAT(space_error(R"({"parameters": {"a": ["x"]}, "constraints": ["a <= 1"]})"), HasSubstr("no numbers"));
  EXPECT_THAT(space_error(R"({"parameters": {"a": [1, 2]}, "constraints": ["a <= "]})"),
              HasSubstr("expected a number or a parameter"));
  EXPECT_THAT(space_error(R"({"parameters": {"a": [1, 2]}, "constraints": ["b <= 1"]})"),
              HasSubstr("unknown parameter b"));
  EXPECT_THAT(space_error(R"({"parameters": {"a": [1, 2], "b": {"same_as": "c"}}})"), HasSubstr("unknown parameter c"));
  EXPECT_THAT(space_error(R"({"parameters": {"a": {"type": "flaot", "low": 1, "high": 2}}})"),
              HasSubstr("Did you mean float"));
}

TEST(LinearConstraints, AreSumsOnBothSides) {
  const auto value = [](const std::string& name) -> std::optional<double> {
    if (name == "a") return 2;
    if (name == "b-c") return 3;
    return std::nullopt;
  };
  EXPECT_EQ(parse_linear_constraint("2*a + 1 <= 'b-c'").violation(value), 2);
  EXPECT_EQ(parse_linear_constraint("a >= 5").violation(value), 3);
  EXPECT_EQ(parse_linear_constraint("-a - 'b-c' <= -5").violation(value), 0);
  EXPECT_EQ(parse_linear_constraint("a + absent <= 0").violation(value), 0);
}

}  // namespace
}  // namespace hone
