#include "passes/options.h"

#include <gtest/gtest.h>

#include "passes/pipelines.h"
#include "tests/passes/parse_ops.h"

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

TEST(Options, OfQuantizeAreDocumentedAndChecked) {
  for (const OptionField<QuantizeOptions>& field : quantize_fields())
    EXPECT_GT(std::string(field.doc).size(), 10u) << field.name;
  QuantizeOptions o;
  set_option(quantize_fields(), o, "to", {"mxint8"});
  EXPECT_EQ(o.to, "mxint8");
  EXPECT_THROW(set_option(quantize_fields(), o, "to", {"mxint9"}), FormatError);
  EXPECT_THROW(set_option(quantize_fields(), o, "rule", {"layer"}), Error);
  EXPECT_THROW(set_option(quantize_fields(), o, "skip", {"("}), Error);
}

}  // namespace
}  // namespace hone
