// Ops on strings, and n-grams.
#include <gtest/gtest.h>

#include "tests/ops/call.h"

namespace hone {
namespace {

using Texts = std::vector<std::string>;

Tensor texts(const Texts& values) { return Tensor::strings({std::ssize(values)}, values); }

TEST(StringNormalize, DropsStopWordsAndThenChangesTheCase) {
  const Tensor days = texts({"Monday", "tuesday", "MONDAY"});
  Attributes attributes{{"stopwords", Texts{"monday", "MONDAY"}}, {"case", std::string("upper")}};
  EXPECT_EQ(call("string_normalize", {days}, attributes).string_values(), (Texts{"TUESDAY"}));
  attributes.set("is_case_sensitive", int64_t{1});
  EXPECT_EQ(call("string_normalize", {days}, attributes).string_values(), (Texts{"MONDAY", "TUESDAY"}));
}

TEST(StringNormalize, LeavesOneEmptyStringWhereAllAreStopWords) {
  const Tensor left = call("string_normalize", {Tensor::strings({1, 2}, {"a", "A"})}, {{"stopwords", Texts{"a"}}});
  EXPECT_EQ(left.shape(), (Sizes64{1, 1}));
  EXPECT_EQ(left.string_values(), (Texts{""}));
}

TEST(StringNormalize, KnowsLettersBeyondAscii) {
  EXPECT_EQ(call("string_normalize", {texts({"ÄÉσ", "\xff"})}, {{"case", std::string("lower")}}).string_values(),
            (Texts{"äéσ", "\xef\xbf\xbd"}));
  EXPECT_EQ(call("string_normalize", {texts({"äéσ"})}, {{"case", std::string("upper")}}).string_values(),
            (Texts{"ÄÉΣ"}));
  EXPECT_NE(error_of("string_normalize", {texts({"a"})}, {{"case", std::string("title")}}).find("lower, upper, none"),
            std::string::npos);
}

TEST(StringConcat, Broadcasts) {
  const Tensor joined = call("string_concat", {Tensor::strings({2, 1}, {"a", "b"}), texts({"1", "2", ""})});
  EXPECT_EQ(joined.shape(), (Sizes64{2, 3}));
  EXPECT_EQ(joined.string_values(), (Texts{"a1", "a2", "a", "b1", "b2", "b"}));
  EXPECT_NE(error_of("string_concat", {texts({"a"}), i64({1}, {1})}).find("accepted: strings"), std::string::npos);
}

std::vector<Tensor> split(const Texts& values, const Attributes& attributes) {
  const Tensor x = texts(values);
  return evaluate_node(ops::get("string_split"), std::vector<const Tensor*>{&x}, attributes);
}

TEST(StringSplit, FillsUpWithEmptyStringsAndCounts) {
  const auto results = split({"a,b,,c", "d"}, {{"delimiter", std::string(",")}});
  EXPECT_EQ(results[0].shape(), (Sizes64{2, 4}));
  EXPECT_EQ(results[0].string_values(), (Texts{"a", "b", "", "c", "d", "", "", ""}));
  EXPECT_EQ(results[1].to_integers(), (Ints{4, 1}));
}

TEST(StringSplit, TakesRunsOfWhiteSpaceForOneDelimiter) {
  const auto results = split({"  a \t b  c ", "  ", ""}, {});
  EXPECT_EQ(results[0].string_values(), (Texts{"a", "b", "c", "", "", "", "", "", ""}));
  EXPECT_EQ(results[1].to_integers(), (Ints{3, 0, 0}));
}

TEST(StringSplit, StopsAfterMaxsplitCuts) {
  EXPECT_EQ(split({"a b  c "}, {{"maxsplit", int64_t{1}}})[0].string_values(), (Texts{"a", "b  c"}));
  EXPECT_EQ(split({"a-b-c"}, {{"maxsplit", int64_t{1}}, {"delimiter", std::string("-")}})[0].string_values(),
            (Texts{"a", "b-c"}));
  EXPECT_EQ(split({"a-b"}, {{"maxsplit", int64_t{0}}, {"delimiter", std::string("-")}})[0].string_values(),
            (Texts{"a-b"}));
}

TEST(StringSplit, OfNoStringsHasNoParts) { EXPECT_EQ(split({}, {})[0].shape(), (Sizes64{0, 0})); }

bool matches(const std::string& pattern, const std::string& text) {
  return call("regex_full_match", {texts({text})}, {{"pattern", pattern}}).as<bool>()[0];
}

TEST(RegexFullMatch, IsAboutTheWholeString) {
  EXPECT_TRUE(matches("[a-z]+@[a-z]+\\.(com|org)", "me@home.org"));
  EXPECT_FALSE(matches("[a-z]+", "abc1"));
  EXPECT_TRUE(matches("a|ab", "ab"));
  EXPECT_TRUE(matches("^a{2,3}$", "aaa"));
  EXPECT_FALSE(matches("a", ""));
}

TEST(RegexFullMatch, ReadsUtf8AndRe2sCharacterClasses) {
  EXPECT_TRUE(matches("a.c", "aéc"));
  EXPECT_TRUE(matches("a.c", "a\rc"));
  EXPECT_FALSE(matches("a.c", "a\nc"));
  EXPECT_TRUE(matches("[]a]+", "]a"));
  EXPECT_TRUE(matches("[[:digit:][]+", "[1"));
  EXPECT_TRUE(matches("[\\s\\d]+", "1 2"));
  EXPECT_FALSE(matches("\\s", "\v"));
  EXPECT_FALSE(matches("\\w", "é"));
  EXPECT_TRUE(matches("\\x41\\.", "A."));
}

TEST(RegexFullMatch, TakesLongStringsInItsStride) {
  EXPECT_TRUE(matches("(a|b)*c", std::string(1000000, 'a').append("c")));
}

TEST(RegexFullMatch, ReadsAllOfRe2sSyntax) {
  for (const char* pattern : {"(?i)A", "(?P<n>a)", "\\pL", "\\Qa\\E", "\\Aa", "\\x{61}", "[[:^digit:]]"})
    EXPECT_TRUE(matches(pattern, "a")) << pattern;
}

TEST(RegexFullMatch, RefusesWhatIsNoPattern) {
  for (const std::string& pattern : Texts{"(a", "[a", "a{2,1}", "*", "(a)\\1", "a(?=b)", std::string(100'000, '(')})
    EXPECT_NE(error_of("regex_full_match", {texts({"a"})}, {{"pattern", pattern}}).find("not a regular expression"),
              std::string::npos)
        << pattern.substr(0, 20);
}

// The pool: 5, 6; then 5 6, 5 5.
const Attributes kPool{{"mode", std::string("TF")},
                       {"min_gram_length", int64_t{1}},
                       {"max_gram_length", int64_t{2}},
                       {"max_skip_count", int64_t{0}},
                       {"ngram_counts", Ints{0, 2}},
                       {"ngram_indexes", Ints{3, 0, 1, 2}},
                       {"pool_int64s", Ints{5, 6, 5, 6, 5, 5}}};

Floats grams(const std::string& name, Attribute value) {
  Attributes attributes = kPool;
  attributes.set(name, std::move(value));
  return call("tf_idf", {i64({4}, {5, 6, 5, 5})}, attributes).to_floats();
}

TEST(TfIdf, CountsTheNgramsOfThePool) {
  EXPECT_EQ(grams("mode", std::string("TF")), (Floats{1, 1, 1, 3}));
  EXPECT_EQ(grams("min_gram_length", int64_t{2}), (Floats{0, 1, 1, 0}));
  EXPECT_EQ(grams("max_skip_count", int64_t{1}), (Floats{1, 1, 2, 3}));  // also 5 _ 5; single items once
  EXPECT_EQ(grams("max_skip_count", int64_t{1} << 60), (Floats{1, 1, 3, 3}));
}

TEST(TfIdf, WeighsByPlaceInThePool) {
  Attributes weighted = kPool;
  weighted.set("weights", Doubles{10, 20, 30, 40});
  weighted.set("mode", std::string("IDF"));
  const Tensor x = i64({2, 4}, {5, 6, 5, 5, 6, 6, 6, 6});
  EXPECT_EQ(call("tf_idf", {x}, weighted).to_floats(), (Floats{20, 30, 40, 10, 20, 0, 0, 0}));
  weighted.set("mode", std::string("TFIDF"));
  EXPECT_EQ(call("tf_idf", {x}, weighted).to_floats(), (Floats{20, 30, 40, 30, 80, 0, 0, 0}));
}

TEST(TfIdf, SaysWhatDoesNotFit) {
  const auto error = [](const std::string& name, Attribute value) {
    Attributes attributes = kPool;
    attributes.set(name, std::move(value));
    return error_of("tf_idf", {i64({1}, {5})}, attributes);
  };
  EXPECT_NE(error("ngram_counts", Ints{0, 7}).find("a pool of 6 items"), std::string::npos);
  EXPECT_NE(error("ngram_indexes", Ints{0, 1}).find("2 values for 4 n-grams"), std::string::npos);
  EXPECT_NE(error("weights", Doubles{1}).find("1 weights for 4"), std::string::npos);
  EXPECT_NE(error("mode", std::string("DF")).find("TF, IDF, TFIDF"), std::string::npos);
  EXPECT_NE(error_of("tf_idf", {texts({"a"})}, kPool).find("pool_strings alone"), std::string::npos);
}

}  // namespace
}  // namespace hone
