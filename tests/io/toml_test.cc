// TOML: order of the file, flat options, and errors with line and column.
#include "io/toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/io/temporary_folder.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string error_for(const char* text) {
  return error_of([&] { flatten_options(parse_toml(text, "q.toml"), "q.toml"); });
}

TEST(Toml, KeysKeepTheOrderOfTheFile) {
  EXPECT_EQ(parse_toml("z = 1\na = 'x'\n[t]\nm = true\nb = [1.5, 2]\n", "q").dump(),
            R"({"z":1,"a":"x","t":{"m":true,"b":[1.5,2]}})");
}

TEST(Toml, OptionsAreFlatTexts) {
  const TemporaryFolder folder;
  const OptionTexts options = read_toml_options(folder.put(
      "q.toml",
      "to = 'mxint8'\nrule = ['embed.*=mxint4', 'pooler.*=fp32']\nbits = 4.5\n[quantize]\nverify = true\nn = -3\n"));
  const OptionTexts expected{{"to", {"mxint8"}},
                             {"rule", {"embed.*=mxint4", "pooler.*=fp32"}},
                             {"bits", {"4.5"}},
                             {"quantize.verify", {"true"}},
                             {"quantize.n", {"-3"}}};
  EXPECT_EQ(options, expected);
}

TEST(Toml, ArraysOfTablesGiveTheirKeysInTurn) {
  const OptionTexts expected{{"rule.name", {"a"}}, {"rule.name", {"b"}}};
  EXPECT_EQ(flatten_options(parse_toml("[[rule]]\nname='a'\n[[rule]]\nname='b'\n", "q"), "q"), expected);
}

TEST(Toml, ErrorsSayLineAndColumn) {
  EXPECT_THAT(error_for("a = 1\nb = \n"), HasSubstr("q.toml:2:"));
  EXPECT_THAT(error_for("a = 1\na = 2\n"), HasSubstr("q.toml:2:"));
  EXPECT_THAT(error_for("[t]\n[t]\n"), HasSubstr("q.toml:2:"));
  EXPECT_THAT(error_for("a = [1, 2\n"), HasSubstr("q.toml:"));
  EXPECT_THAT(error_for("a = '\xff'\n"), HasSubstr("q.toml:1:"));
  EXPECT_THAT(error_for("x = 1\nday = 2024-01-01\n"), HasSubstr("q.toml:2:7: a date or time"));
  EXPECT_THAT(error_for("a = [[1], [2]]\n"), HasSubstr("expected plain values"));
  EXPECT_EQ(error_for(""), "");
}

TEST(Toml, DeepNestingIsRefused) {
  const std::string deep = "a = " + std::string(100000, '[') + "\n";
  EXPECT_THAT(error_for(deep.c_str()), HasSubstr("q.toml:1:"));
}

// A few bytes per level of nesting, which toml++ and the tree recurse over.
TEST(Toml, DeepNestingIsRefusedHoweverItIsWritten) {
  std::string dotted = "a", quoted = "\"=\"", header = "[a", inline_tables, arrays = "a = ";
  for (int i = 0; i < 100'000; ++i) {
    dotted += ".a", quoted += ".'=#'", header += " . a";
    inline_tables += "a={", arrays += '[';
  }
  EXPECT_THAT(error_of([&] { parse_toml(dotted + " = 1", "q.toml"); }), HasSubstr("q.toml:1: a key of more than 32"));
  EXPECT_THAT(error_of([&] { parse_toml("x = 1\n" + quoted + " = 1", "q.toml"); }),
              HasSubstr("q.toml:2: a key of more"));
  EXPECT_THAT(error_of([&] { parse_toml(header + "]", "q.toml"); }), HasSubstr("a key of more than 32"));
  EXPECT_NE(error_of([&] { parse_toml(inline_tables, "q.toml"); }), "");
  EXPECT_NE(error_of([&] { parse_toml(arrays, "q.toml"); }), "");
  std::string both;  // 200 inline tables of 30 dots each
  for (int i = 0; i < 200; ++i) {
    for (int dot = 0; dot < 30; ++dot) both += "a.";
    both += "a={";
  }
  EXPECT_THAT(error_of([&] { parse_toml(both + "b=1" + std::string(200, '}'), "q.toml"); }),
              HasSubstr("nested deeper than 64"));
}

TEST(Toml, DotsInTextsAndNumbersAreNoNesting) {
  const std::string dots(100, '.');
  const std::string text = "# " + dots + "\na = \"" + dots + "\\\"\"\nb = '" + dots + "'\nc = \"\"\"\n" + dots +
                           "\n\"\"\"\nd = [" +
                           [] {
                             std::string numbers;
                             for (int i = 0; i < 100; ++i) numbers += "1.5, ";
                             return numbers;
                           }() +
                           "]\n";
  EXPECT_EQ(parse_toml(text, "q.toml")["d"].size(), 100u);
}

}  // namespace
}  // namespace hone
