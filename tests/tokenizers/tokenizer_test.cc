// The tokenizer against ids made by the Hugging Face library (bench/peers/tokenizer_reference.py --count 300 --seed 7)
// on a small vocabulary of our own, and against rules that a person can check.
#include "tokenizers/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"
#include "tests/support/token_reference.h"
#include "tokenizers/unicode.h"

namespace hone {
namespace {

using test::error_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<int64_t>;

const std::string kFolder = std::string(test::kTestData) + "/tokenizer/";

Tokenizer small_tokenizer() { return Tokenizer::from_json(read_file(kFolder + "tokenizer.json"), "tokenizer.json"); }

// [UNK] 0, [CLS] 1, [SEP] 2, [PAD] 3, then words.
Tokenizer tokenizer_of(const std::string& words, bool lowercase = true) {
  std::string text = "[UNK]\n[CLS]\n[SEP]\n[PAD]\n";
  for (char c : words) text += c == ' ' ? '\n' : c;
  return Tokenizer::from_vocab(text, lowercase, "vocab.txt");
}

// The ids of a text without [CLS] and [SEP].
Ids inner(const Tokenizer& tokenizer, std::string_view text) {
  Ids ids = tokenizer.encode(text, 0);
  EXPECT_EQ(ids.front(), 1);
  EXPECT_EQ(ids.back(), 2);
  return Ids(ids.begin() + 1, ids.end() - 1);
}

TEST(Tokenizer, IdsEqualThoseOfTheReference) {
  const Tokenizer tokenizer = small_tokenizer();
  int texts = 0, invalid = 0;
  for (const TokenReference& reference : read_token_references(kFolder + "expected.jsonl")) {
    ++texts, invalid += !reference.valid_utf8;
    EXPECT_EQ(tokenizer.encode(reference.text, 0), reference.ids) << "line " << texts;
  }
  EXPECT_EQ(texts, 300);
  EXPECT_GT(invalid, 10);
}

TEST(Tokenizer, VocabTxtGivesTheIdsOfTokenizerJson) {
  const Tokenizer a = small_tokenizer(), b = Tokenizer::from_vocab(read_file(kFolder + "vocab.txt"), true, "vocab.txt");
  for (const char* text : {"The house, unbelievable!", "Über 日本 [SEP] x", "", "believing tokens"})
    EXPECT_EQ(a.encode(text, 0), b.encode(text, 0)) << text;
}

TEST(Tokenizer, TheLongestPieceWinsAndAWordIsKnownOrNot) {
  const Tokenizer t = tokenizer_of("un unbel ##be ##believ ##able ##a");
  EXPECT_THAT(inner(t, "unbelievable"), ElementsAre(0));  // unbel, then "ie" matches nothing: no way back to "un"
  EXPECT_THAT(inner(t, "una unable"), ElementsAre(4, 9, 4, 8));
  EXPECT_THAT(inner(t, "able"), ElementsAre(0));  // only as a continuation
}

TEST(Tokenizer, WordsOfMoreThanAHundredCharactersAreUnknown) {
  const Tokenizer t = tokenizer_of("é ##é", false);
  std::string word;
  for (int i = 0; i < 100; ++i) word += "é";
  EXPECT_EQ(inner(t, word).size(), 100u);  // characters count, not their two bytes
  EXPECT_THAT(inner(t, word + "é"), ElementsAre(0));
}

TEST(Tokenizer, CaseAndAccentsGoTogether) {
  EXPECT_THAT(inner(tokenizer_of("cafe i"), "CAFÉ İ cafe\u0301"), ElementsAre(4, 5, 4));
  EXPECT_THAT(inner(tokenizer_of("cafe Café", false), "Café cafe CAFE"), ElementsAre(5, 4, 0));
}

TEST(Tokenizer, IdeographsAndPunctuationAreWordsOfTheirOwn) {
  const Tokenizer t = tokenizer_of("中 文 a b ! ##b");
  EXPECT_THAT(inner(t, "a中文b!!a"), ElementsAre(6, 4, 5, 7, 8, 8, 6));
}

TEST(Tokenizer, SpecialTokensAreReadInRawText) {
  const Tokenizer t = tokenizer_of("a ] [ cls");
  EXPECT_THAT(inner(t, "a[CLS]a"), ElementsAre(4, 1, 4));
  EXPECT_THAT(inner(t, "[cls]"), ElementsAre(6, 7, 5));  // the lower-case one is text
}

TEST(Tokenizer, EmptyTextsAreJustTheTokensAround) {
  for (const char* text : {"", " ", "\t\r\n", "\x01\x02", "\u200b"})
    EXPECT_THAT(tokenizer_of("a").encode(text, 0), ElementsAre(1, 2));
}

TEST(Tokenizer, TruncationKeepsTheTokensAround) {
  const Tokenizer t = tokenizer_of("a b c");
  EXPECT_THAT(t.encode("a b c", 4), ElementsAre(1, 4, 5, 2));
  EXPECT_THAT(t.encode("a b c", 2), ElementsAre(1, 2));
  EXPECT_THAT(t.encode("a b c", 5), ElementsAre(1, 4, 5, 6, 2));
  EXPECT_THAT(error_of([&] { t.encode("a", 1); }), HasSubstr("no room for the 2 tokens"));
}

TEST(Tokenizer, BatchesArePaddedAndMasked) {
  const Tokenizer t = tokenizer_of("a b");
  const TokenBatch batch = t.encode_batch(std::vector<std::string>{"a", "a b a"}, 0, 4);
  EXPECT_EQ(batch.ids.shape(), (std::vector<int64_t>{2, 8}));
  EXPECT_THAT(batch.ids.as<int64_t>(), ElementsAre(1, 4, 2, 3, 3, 3, 3, 3, 1, 4, 5, 4, 2, 3, 3, 3));
  EXPECT_THAT(batch.attention_mask.as<int64_t>(), ElementsAre(1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0));
  EXPECT_THAT(error_of([&] { t.encode_batch({}, 0); }), HasSubstr("no texts"));
}

TEST(Tokenizer, InvalidUtf8IsReplacedByMaximalSubparts) {
  // As bytes.decode("utf-8", "replace") of Python 3.11.
  EXPECT_EQ(decode_utf8("\xe2\x82"
                        "a"),
            U"\ufffda");  // a truncated sequence: one
  EXPECT_EQ(decode_utf8("\xf0\x9f\x98"), U"\ufffd");
  EXPECT_EQ(decode_utf8("\xed\xa0\x80"), U"\ufffd\ufffd\ufffd");  // a surrogate: three
  EXPECT_EQ(decode_utf8("\xc0\xaf"), U"\ufffd\ufffd");            // overlong
  EXPECT_EQ(decode_utf8("\xf4\x90\x80\x80"), U"\ufffd\ufffd\ufffd\ufffd");
  EXPECT_EQ(decode_utf8("\xe2\x28\xa1"), U"\ufffd(\ufffd");
  EXPECT_EQ(decode_utf8("\xf0\x9f\x98\x80"), U"\U0001f600");
}

TEST(Unicode, EveryCodePointSurvivesUtf8) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string text;
    append_utf8(text, c);
    const std::u32string back = decode_utf8(text);
    ASSERT_TRUE(is_valid_utf8(text) && back.size() == 1 && back[0] == c) << std::hex << static_cast<uint32_t>(c);
  }
}

TEST(Unicode, DecompositionOrdersCombiningMarks) {
  EXPECT_EQ(canonical_decomposition(U"\u1e69"), U"s\u0323\u0307");  // ṩ
  EXPECT_EQ(canonical_decomposition(U"s\u0307\u0323"), U"s\u0323\u0307");
  EXPECT_EQ(canonical_decomposition(U"\uac01"), U"\u1100\u1161\u11a8");  // hangul
}

TEST(Unicode, LowercaseIsTheFullMappingWithoutContext) {
  std::u32string out;
  for (char32_t c : std::u32string_view(U"AZ\u0130\u03a3\u1e9eé")) append_lowercase(out, c);
  EXPECT_EQ(out, U"azi\u0307\u03c3\u00dfé");  // a final sigma is not known as such
}

// The small tokenizer.json with one part exchanged.
std::string changed(const char* pointer, const Json& value) {
  Json root = parse_json(read_file(kFolder + "tokenizer.json"), "tokenizer.json");
  root[nlohmann::ordered_json::json_pointer(pointer)] = value;
  return error_of([&] { Tokenizer::from_json(root.dump(), "t.json"); });
}

TEST(TokenizerJson, OtherKindsOfTokenizersAreRefusedByName) {
  EXPECT_THAT(changed("/model/type", "WordLevel"), AllOf(HasSubstr("t.json: model \"WordLevel\" is not supported"),
                                                         HasSubstr("wordpiece"), HasSubstr("unigram")));
  EXPECT_THAT(changed("/normalizer/type", "NFQ"), HasSubstr("normalizer: type \"NFQ\" is not supported"));
  EXPECT_THAT(changed("/pre_tokenizer/type", "UnicodeScripts"), HasSubstr("pre_tokenizer: type \"UnicodeScripts\""));
  EXPECT_THAT(changed("/post_processor/type", "Else"), HasSubstr("post_processor: type \"Else\""));
  EXPECT_THAT(changed("/pre_tokenizer",
                      Json{{"type", "Split"}, {"pattern", {{"Regex", "[a-z]+|x"}}}, {"behavior", "Isolated"}}),
              HasSubstr("the pattern \"[a-z]+|x\" is not supported"));
  EXPECT_THAT(changed("/normalizer/a_key_of_tomorrow", true), HasSubstr("\"a_key_of_tomorrow\" is true"));
  EXPECT_THAT(changed("/model/unk_token", "<unk>"), HasSubstr("unk_token \"<unk>\" is not in the vocabulary"));
  EXPECT_THAT(changed("/model/vocab", Json::object()), HasSubstr("vocabulary is empty"));
  EXPECT_THAT(changed("/model/vocab/the", -1), HasSubstr("expected an integer from 0"));
  EXPECT_THAT(changed("/model/vocab/the", "1"), HasSubstr("expected an integer from 0"));
  EXPECT_THAT(changed("/model/vocab/the", Json::array({1})), HasSubstr("expected an integer from 0"));
  EXPECT_THAT(changed("/added_tokens/0/id", 99), HasSubstr("\"[PAD]\" has id 99, but 0 in the vocabulary"));
  EXPECT_THAT(changed("/post_processor/single/1/Sequence/id", "B"), HasSubstr("sequence A once"));
  for (int64_t characters : {int64_t{0}, int64_t{-1}, int64_t{1001}, int64_t{1} << 62})  // the time is quadratic in it
    EXPECT_THAT(changed("/model/max_input_chars_per_word", characters), HasSubstr("accepted: 1 to 1000"));
  EXPECT_EQ(changed("/truncation", Json{{"max_length", 7}, {"strategy", "LongestFirst"}, {"stride", 0}}), "");
}

TEST(TokenizerJson, MalformedTextsAreErrorsThatNameTheFile) {
  const std::string whole = read_file(kFolder + "tokenizer.json");
  for (size_t n = 0; n < whole.size() - 1; n += 7)
    EXPECT_THAT(error_of([&] { Tokenizer::from_json(std::string_view(whole).substr(0, n), "t.json"); }),
                HasSubstr("t.json"))
        << n;
  for (const char* text : {"", "[]", "7", "{\"model\": {\"vocab\": {\"a\": 1, \"a\": 2}}}", "{\"a\": 1, \"a\": 1}"})
    EXPECT_THAT(error_of([&] { Tokenizer::from_json(text, "t.json"); }), HasSubstr("t.json")) << text;
  EXPECT_THAT(error_of([&] { Tokenizer::from_json(std::string(100, '['), "t.json"); }), HasSubstr("nested deeper"));
}

TEST(VocabTxt, DuplicatesAndMissingTokensAreRefused) {
  EXPECT_THAT(error_of([] { Tokenizer::from_vocab("[UNK]\n[CLS]\n[SEP]\na\na\n", true, "v"); }),
              HasSubstr("v:5: token \"a\" is also in line 4"));
  EXPECT_THAT(error_of([] { Tokenizer::from_vocab("[UNK]\n[CLS]\n", true, "v"); }), HasSubstr("[SEP] is missing"));
  EXPECT_THAT(error_of([] { Tokenizer::from_vocab("\xff\n", true, "v"); }), HasSubstr("UTF-8"));
  EXPECT_EQ(Tokenizer::from_vocab("[UNK]\r\n[CLS]\r\n[SEP]\r\n", true, "v").encode("", 0), (Ids{1, 2}));
}

TEST(Pairs, AreCutAsTheReferenceCuts) {  // Hugging Face's tokenizers 0.23, truncation "longest_first"
  const Tokenizer tokenizer = small_tokenizer();
  struct Case {
    const char *first, *second;
    int64_t max_length;
    Ids ids, types;
  };
  const Case cases[] = {
      {"the house",
       "unbelievable tokens",
       0,
       {2, 136, 188, 3, 185, 190, 193, 200, 197, 193, 210, 238, 184, 207, 3},
       {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
      {"the house", "unbelievable tokens", 6, {2, 136, 3, 185, 190, 3}, {0, 0, 0, 1, 1, 1}},
      {"the house", "unbelievable tokens", 9, {2, 136, 188, 3, 185, 190, 193, 200, 3}, {0, 0, 0, 0, 1, 1, 1, 1, 1}},
      {"the house the house the house", "believing", 6, {2, 136, 188, 3, 186, 3}, {0, 0, 0, 0, 1, 1}},
      {"the house the house the house", "believing", 8, {2, 136, 188, 136, 3, 186, 236, 3}, {0, 0, 0, 0, 0, 1, 1, 1}},
      {"", "a", 5, {2, 3, 5, 3}, {0, 0, 1, 1}},
      {"the, the, the!", "the. the. the.", 8, {2, 136, 52, 3, 136, 54, 136, 3}, {0, 0, 0, 0, 1, 1, 1, 1}},
  };
  for (const Case& c : cases) {
    const Tokens tokens = tokenizer.encode_pair(c.first, c.second, c.max_length);
    EXPECT_EQ(tokens.ids, c.ids) << c.first << " | " << c.second << " " << c.max_length;
    EXPECT_EQ(tokens.types, c.types);
  }
  EXPECT_EQ(tokenizer.encode_pair("the house", "unbelievable tokens", 6).left_out, 9);
}

TEST(Pairs, NeedATemplate) {
  Json root = parse_json(read_file(kFolder + "tokenizer.json"), "tokenizer.json");
  root["post_processor"]["pair"] = nullptr;
  EXPECT_EQ(error_of([&] { Tokenizer::from_json(root.dump(), "t.json").encode_pair("a", "b", 0); }),
            "the tokenizer states no template for a pair of texts, so it takes one text a row");
}

TEST(AddedTokens, OfASingleWordStandAlone) {
  Json root = parse_json(read_file(kFolder + "tokenizer.json"), "tokenizer.json");
  root["added_tokens"].back()["single_word"] = true;  // "Hot Dog", which takes white space behind it along
  const Tokenizer tokenizer = Tokenizer::from_json(root.dump(), "t.json");
  const auto count = [&](const char* text) { return std::ranges::count(tokenizer.encode(text, 0), 244); };
  EXPECT_EQ(count("hot dog"), 1);
  EXPECT_EQ(count("(hot dog)"), 1);
  EXPECT_EQ(count("hot dogs"), 0);
  EXPECT_EQ(count("éhot dog"), 0);
}

// As the tokenizers library has it: both cover the white space.
TEST(AddedTokens, InWhiteSpaceThatAnEarlierOneTookAreTokensToo) {
  const Json root{{"model", {{"type", "BPE"}, {"vocab", {{" ", 0}, {"a", 1}}}, {"merges", Json::array()}}},
                  {"added_tokens",
                   {{{"id", 2}, {"content", "<x>"}, {"rstrip", true}, {"normalized", false}},
                    {{"id", 3}, {"content", "  "}, {"normalized", false}}}}};
  const Tokens tokens =
      Tokenizer::from_json(root.dump(), "t.json").encode_text("<x>   ", EncodeOptions{.ranges = true});
  EXPECT_THAT(tokens.ids, ElementsAre(2, 3, 0));
  EXPECT_THAT(tokens.ranges, ElementsAre(TextRange{0, 6}, TextRange{3, 5}, TextRange{5, 6}));
}

TEST(AddedTokens, OfMoreThanAThousandBytesAreRefused) {
  const Json root{{"model", {{"type", "BPE"}, {"vocab", {{"a", 0}}}, {"merges", Json::array()}}},
                  {"added_tokens", Json::array({Json{{"id", 1}, {"content", std::string(1025, 'a')}}})}};
  EXPECT_THAT(error_of([&] { Tokenizer::from_json(root.dump(), "t.json"); }), HasSubstr("1025 bytes"));
}

TEST(Tokenizer, APieceOfNoTokensHasNoneAgainWhenItIsRemembered) {
  const Json root{{"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}}}, {"merges", Json::array()}}}};
  const Tokenizer tokenizer = Tokenizer::from_json(root.dump(), "t.json");
  for (int i = 0; i < 2; ++i) EXPECT_THAT(tokenizer.encode("x", 0), ElementsAre());
}

TEST(Words, AreTokenisedEachByItself) {
  const Tokenizer tokenizer = tokenizer_of("un ##believ ##able a");
  const std::vector<std::string> words{"a", "unbelievable", "a"};
  const Tokens tokens = tokenizer.encode_words(words, 6);
  EXPECT_THAT(tokens.ids, ElementsAre(1, 7, 4, 5, 6, 2));
  EXPECT_THAT(tokens.words, ElementsAre(-1, 0, 1, 1, 1, -1));
  EXPECT_EQ(tokens.left_out, 1);
}

}  // namespace
}  // namespace hone
