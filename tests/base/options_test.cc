#include "base/options.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;

struct Options {
  std::string text;
  bool flag = false;
  int64_t count = 0;
  double rate = 0;
  std::vector<std::string> list;
};
constexpr OptionField<Options> kFields[] = {{"text", "", &Options::text},
                                            {"flag", "", &Options::flag},
                                            {"count", "", &Options::count},
                                            {"rate", "", &Options::rate},
                                            {"list", "", &Options::list, [](const std::string& s) {
                                               if (s == "bad") fail("bad is not accepted");
                                             }}};
const std::span<const OptionField<Options>> kSpan = kFields;

TEST(Options, AreSetFromTexts) {
  Options o;
  set_option(kSpan, o, "text", {"a"});
  set_option(kSpan, o, "flag", {});
  set_option(kSpan, o, "count", {"-3"});
  set_option(kSpan, o, "rate", {"0.25"});
  set_option(kSpan, o, "list", {"p", "q"});
  set_option(kSpan, o, "list", {"r"});
  EXPECT_EQ(o.text, "a");
  EXPECT_TRUE(o.flag);
  EXPECT_EQ(o.count, -3);
  EXPECT_EQ(o.rate, 0.25);
  EXPECT_EQ(o.list, (std::vector<std::string>{"p", "q", "r"}));
  set_option(kSpan, o, "flag", {"false"});
  EXPECT_FALSE(o.flag);
}

TEST(Options, KnowTheirKinds) {
  EXPECT_EQ(kFields[0].kind(), OptionKind::text);
  EXPECT_EQ(kFields[1].kind(), OptionKind::flag);
  EXPECT_EQ(kFields[4].kind(), OptionKind::list);
}

TEST(Options, RefuseWhatDoesNotFit) {
  Options o;
  EXPECT_NE(error_of([&] { set_option(kSpan, o, "cuont", {"1"}); }).find("Did you mean count"), std::string::npos);
  EXPECT_NE(error_of([&] { set_option(kSpan, o, "count", {"1.5"}); }).find("expected an integer, found \"1.5\""),
            std::string::npos);
  EXPECT_NE(error_of([&] { set_option(kSpan, o, "rate", {"x"}); }).find("expected a number"), std::string::npos);
  EXPECT_NE(error_of([&] { set_option(kSpan, o, "flag", {"yes"}); }).find("true or false"), std::string::npos);
  EXPECT_NE(error_of([&] { set_option(kSpan, o, "text", {"a", "b"}); }).find("takes one value"), std::string::npos);
  EXPECT_NE(error_of([&] { set_option(kSpan, o, "text", {""}); }).find("expected a text"), std::string::npos);
  EXPECT_NE(error_of([&] { set_option(kSpan, o, "list", {"bad"}); }).find("bad is not accepted"), std::string::npos);
  EXPECT_TRUE(o.list.empty());
}

struct Traits {
  std::string kind = "a";
  int64_t threads = 1;
  double share = 0.5;
  std::vector<std::string> kinds;
  std::optional<int64_t> trials;
  uint64_t seed = 1;
};
std::vector<std::string> kinds() { return {"a", "b", "c"}; }
constexpr OptionField<Traits> kTraits[] = {
    {"kind", "", &Traits::kind, nullptr, false, {.choices = kinds}},
    {"threads", "", &Traits::threads, nullptr, false, {.least = 1, .most = 1024}},
    {"share", "", &Traits::share, nullptr, false, {.least = 0}},
    {"kinds", "", &Traits::kinds, nullptr, false, {.choices = kinds}},
    {"trials", "", &Traits::trials, nullptr, false, {.most = 9, .more_doc = [] { return std::string(" (30)"); }}},
    {"seed", "", &Traits::seed}};
const std::span<const OptionField<Traits>> kTraitSpan = kTraits;

TEST(Options, HoldToChoicesAndRanges) {
  Traits t;
  const auto refused = [&](const char* name, const char* text) {
    return error_of([&] { set_option(kTraitSpan, t, name, {text}); });
  };
  EXPECT_EQ(refused("kind", "d"), "option kind: expected a, b or c, found \"d\"");
  EXPECT_EQ(refused("kinds", "d"), "option kinds: expected a, b or c, found \"d\"");
  EXPECT_EQ(refused("threads", "0"), "option threads: expected an integer from 1 to 1024, found 0");
  EXPECT_EQ(refused("share", "-1"), "option share: expected a number from 0, found -1");
  EXPECT_EQ(refused("share", "nan"), "option share: expected a number from 0, found nan");
  EXPECT_EQ(refused("trials", "10"), "option trials: expected an integer up to 9, found 10");
  EXPECT_NE(refused("seed", "-1").find("from 0 to 18446744073709551615"), std::string::npos);
  EXPECT_EQ(t.trials, std::nullopt);
  EXPECT_TRUE(t.kinds.empty());
  EXPECT_EQ(refused("kind", "b") + refused("threads", "1024") + refused("trials", "9") + refused("kinds", "c"), "");
  EXPECT_EQ(refused("seed", "18446744073709551615"), "");
  EXPECT_EQ(t.kind, "b");
  EXPECT_EQ(t.trials, 9);
  EXPECT_EQ(t.seed, UINT64_MAX);
  EXPECT_EQ(options_toml(kTraitSpan, Traits{.trials = 7}), "trials = 7\n");
}

TEST(Options, AreDescribedWithWhatIsKnownOnlyThen) {
  const std::vector<OptionInfo> infos = describe_options(kTraitSpan);
  EXPECT_EQ(infos[4].doc, " (30)");
  EXPECT_EQ(infos[4].kind, OptionKind::integer);
  EXPECT_EQ(infos[4].default_text, "");
  EXPECT_EQ(infos[5].default_text, "1");
}

}  // namespace
}  // namespace hone
