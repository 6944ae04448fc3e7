// What a person can check of each kind, and what files of each may not say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/json.h"
#include "tests/support/error_of.h"
#include "tokenizers/byte_trie.h"
#include "tokenizers/charsmap.h"
#include "tokenizers/split_patterns.h"
#include "tokenizers/text_stream.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/tokenizer_json.h"
#include "tokenizers/utf8_stream.h"

namespace hone {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

Tokenizer tokenizer_of(const Json& root) { return Tokenizer::from_json(root.dump(), "t.json"); }
std::string refusal(const Json& root) {
  return error_of([&] { tokenizer_of(root); });
}

Json bpe() {
  return {{"model",
           {{"type", "BPE"},
            {"unk_token", "?"},
            {"vocab",
             {{"?", 0}, {"a", 1}, {"b", 2}, {"c", 3}, {"ab", 4}, {"bc", 5}, {"abc", 6}, {"<0xC3>", 7}, {"<0xA9>", 8}}},
            {"merges", {"b c", "a b", "a bc"}}}}};
}

TEST(Bpe, ThePairOfTheLowestRankGoesFirst) {
  EXPECT_THAT(tokenizer_of(bpe()).encode("abc", 0), ElementsAre(6));  // b c, then a bc; ab would leave c alone
  EXPECT_THAT(tokenizer_of(bpe()).encode("abab", 0), ElementsAre(4, 4));
}

TEST(Bpe, LongPiecesMergeAsShortOnesDo) {  // a queue from some tens of symbols on
  std::string text;
  std::vector<int64_t> ids;
  for (int i = 0; i < 300; ++i) text += "abcab", ids.insert(ids.end(), {6, 4});
  EXPECT_EQ(tokenizer_of(bpe()).encode(text, 0), ids);
}

TEST(Bpe, UnknownCharactersAreOneTokenEachOrFused) {
  Json root = bpe();
  EXPECT_THAT(tokenizer_of(root).encode("axya", 0), ElementsAre(1, 0, 0, 1));
  root["model"]["fuse_unk"] = true;
  EXPECT_THAT(tokenizer_of(root).encode("axya", 0), ElementsAre(1, 0, 1));
}

TEST(Bpe, BytesStandForCharactersWithoutAToken) {
  Json root = bpe();
  root["model"]["byte_fallback"] = true;
  root["decoder"] = {{"type", "ByteFallback"}};
  const Tokenizer tokenizer = tokenizer_of(root);
  const Tokens tokens = tokenizer.encode_text("aéx", EncodeOptions{.ranges = true});
  EXPECT_THAT(tokens.ids, ElementsAre(1, 7, 8, 0));  // x has no bytes here
  EXPECT_EQ(tokens.ranges[1], (TextRange{1, 3}));
  TextStream stream = tokenizer.stream(false);
  EXPECT_EQ(stream.add(7), "");  // half a character
  EXPECT_EQ(stream.add(8), "é");
  EXPECT_EQ(stream.add(7), "");
  EXPECT_EQ(stream.add(1), "\ufffda");
}

TEST(Bpe, MergesMustNameTokens) {
  Json root = bpe();
  root["model"]["merges"].push_back("a x");
  EXPECT_THAT(refusal(root), HasSubstr("merges: number 3, \"a\" and \"x\": \"x\" is no token of the vocabulary"));
  root["model"]["merges"].back() = "c a";
  EXPECT_THAT(refusal(root), HasSubstr("\"ca\" is no token"));
  for (const Json& bad :
       {Json("ab"), Json("a b c"), Json(7), Json::array({"a"}), Json::array({"a", "b", "c"}), Json::array({"a", 1})}) {
    root["model"]["merges"].back() = bad;
    EXPECT_THAT(refusal(root), HasSubstr("t.json: merges: number 3")) << bad;
  }
}

TEST(Bpe, KeysThatAreNotFollowedAreRefused) {
  Json root = bpe();
  root["model"]["dropout"] = 0.1;
  EXPECT_THAT(refusal(root), HasSubstr("\"dropout\" is 0.1"));
}

TEST(ByteBpe, WordsThatAreTokensAreTakenWholeWhereMergesAreIgnored) {
  Json root = bpe();
  root["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  root["model"]["vocab"]["cab"] = 9;
  EXPECT_THAT(tokenizer_of(root).encode("cab", 0), ElementsAre(3, 4));
  root["model"]["ignore_merges"] = true;
  EXPECT_THAT(tokenizer_of(root).encode("cab", 0), ElementsAre(9));
}

TEST(ByteBpe, BytesWithoutATokenAreNoMatterForByteFallback) {
  Json root = bpe();
  root["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  root["model"]["byte_fallback"] = true;
  EXPECT_THAT(refusal(root), HasSubstr("byte_fallback with ByteLevel is not supported where a byte has no token"));
}

TEST(ByteBpe, IsKnownByAByteLevelHoweverDeep) {
  Json root = bpe();
  const Json byte_level{{"type", "ByteLevel"}, {"add_prefix_space", false}};
  const Json inner{{"type", "Sequence"}, {"pretokenizers", Json::array({byte_level})}};
  root["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", Json::array({inner})}};
  root["model"]["vocab"]["Ã"] = 9;  // the letter of the byte C3
  EXPECT_THAT(tokenizer_of(root).encode("é", 0), ElementsAre(9, 0));
}

Json unigram() {
  return {{"model",
           {{"type", "Unigram"},
            {"unk_id", 0},
            {"vocab", Json::array({Json::array({"?", 0}), Json::array({"a", -2}), Json::array({"b", -2}),
                                   Json::array({"ab", -5}), Json::array({"aba", -3.5})})}}}};
}

TEST(Unigram, TheLargestSumOfScoresWins) {
  EXPECT_THAT(tokenizer_of(unigram()).encode("ab", 0), ElementsAre(1, 2));  // -4 against -5
  EXPECT_THAT(tokenizer_of(unigram()).encode("abab", 0), ElementsAre(4, 2));
  EXPECT_THAT(tokenizer_of(unigram()).encode("axxb", 0), ElementsAre(1, 0, 2));  // unknown ones are one
}

TEST(Unigram, VocabularyAndScoresMustGoTogether) {
  Json root = unigram();
  root["model"]["unk_id"] = int64_t{1} << 32;
  EXPECT_THAT(refusal(root), HasSubstr("unk_id is 4294967296, and there are 5 tokens"));
  root["model"]["unk_id"] = 5;
  EXPECT_THAT(refusal(root), HasSubstr("unk_id is 5, and there are 5 tokens"));
  root["model"]["unk_id"] = nullptr;
  EXPECT_THAT(error_of([&] { tokenizer_of(root).encode("x", 0); }), HasSubstr("no token for \"x\""));
  root = unigram();
  root["model"]["vocab"] = {{"a", 0}};
  EXPECT_THAT(refusal(root), HasSubstr("no scores"));
  for (const Json& bad :
       {Json("a"), Json::array({"a"}), Json::array({"c", "d"}), Json::array({1, "c"}), Json::array({"c", 1, 2})}) {
    root = unigram();
    root["model"]["vocab"].push_back(bad);
    EXPECT_THAT(refusal(root), HasSubstr("t.json: vocabulary: token 5")) << bad;
  }
  root = unigram();
  root["model"]["vocab"].push_back(Json::array({"a", 1}));
  EXPECT_THAT(refusal(root), HasSubstr("duplicate token \"a\""));
}

std::string charsmap_bytes(std::vector<uint32_t> units, std::string_view texts) {
  std::string bytes(4 + units.size() * 4, '\0');
  const auto size = static_cast<uint32_t>(units.size() * 4);
  std::memcpy(bytes.data(), &size, 4);
  std::memcpy(bytes.data() + 4, units.data(), units.size() * 4);
  return bytes + std::string(texts);
}

TEST(Charsmap, ThatPointsOutsideIsRefused) {
  std::vector<uint32_t> units(512);
  units[0] = 256 << 10;                                     // children of the root at 256
  units[256 ^ 'x'] = 'x' | 1 << 8 | (256 ^ 'x' ^ 1) << 10;  // x ends at unit 1
  units[1] = 1u << 31 | 2;                                  // replaced by the text at byte 2
  AlignedText text = AlignedText::of("axb", false);
  Charsmap(charsmap_bytes(units, std::string_view("q\0yes\0", 6)), "m").apply(text);
  EXPECT_EQ(text.text, "ayesb");
  const auto refused = [&](std::vector<uint32_t> changed, std::string_view texts) {
    return error_of([&] { Charsmap(charsmap_bytes(changed, texts), "m"); });
  };
  EXPECT_THAT(refused(units, "q"), HasSubstr("m: the charsmap's unit 1 has a replacement at byte 2 of 2"));
  units[256 ^ 'x'] = 'x' | 1 << 8 | 5000u << 10;
  EXPECT_THAT(refused(units, "qqqq"), HasSubstr("points to"));
  EXPECT_THAT(refused({}, "qqqq"), HasSubstr("the charsmap's trie has 0 bytes"));
  EXPECT_THAT(error_of([] { Charsmap("abc", "m"); }), HasSubstr("has no trie"));
  EXPECT_THAT(error_of([] { Charsmap("\xff\xff\xff\x7f", "m"); }), HasSubstr("and 0 follow"));
}

TEST(TokenizerJsonParts, MayNotNameIdsOfNoToken) {
  Json root = bpe();
  root["post_processor"] = {{"type", "BertProcessing"}, {"cls", {"x", 9}}, {"sep", {"a", 1}}};
  EXPECT_THAT(refusal(root), HasSubstr("post_processor: the id 9 is no token's; the largest is 8"));
  root = bpe();
  root["padding"] = {{"pad_id", 70}};
  EXPECT_THAT(refusal(root), HasSubstr("padding: the id 70"));
}

TEST(Normalizers, MayNotMakeTextsGrowWithoutBound) {
  Json root = bpe();
  const Json grow{{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1000, 'a')}};
  root["normalizer"] = {{"type", "Sequence"}, {"normalizers", {grow, grow, grow, grow}}};
  EXPECT_THAT(error_of([&] { tokenizer_of(root).encode("a", 0); }), HasSubstr("the normalizer makes more than"));
  root["normalizer"] = {{"type", "Prepend"}, {"prepend", std::string(1025, 'a')}};
  EXPECT_THAT(refusal(root), HasSubstr("1025 bytes"));
}

TEST(Normalizers, AreStoppedWhileTheyMakeTooMuch) {
  AlignedText text = AlignedText::of("ab", false);
  text.most = 5;
  Rewriter out(text);
  out.copy(1);
  out.insert("1234");
  EXPECT_THAT(error_of([&] { out.insert("5"); }), HasSubstr("makes more than 5 bytes"));
  EXPECT_THAT(error_of([&] { out.put('5', 1); }), HasSubstr("makes more than 5 bytes"));
  EXPECT_THAT(error_of([&] { out.copy(1); }), HasSubstr("makes more than 5 bytes"));
}

TEST(Decoding, MayNotMakeATokenGrowWithoutBound) {
  Json root = bpe();
  const Json grow{{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1000, 'a')}};
  root["decoder"] = {{"type", "Sequence"}, {"decoders", Json::array({grow, grow, grow})}};
  EXPECT_THAT(error_of([&] { tokenizer_of(root).decode(std::vector<int64_t>{1}, false); }),
              HasSubstr("the decoder makes more than 16777216 bytes of a token"));
  root["decoder"] = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  EXPECT_EQ(tokenizer_of(root).decode(std::vector<int64_t>{1, 4, 2}, false), "aaaabb");
}

TEST(Unigram, DoesNotStandBehindAByteLevel) {
  Json root = unigram();
  root["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  EXPECT_THAT(refusal(root), HasSubstr("pre_tokenizer: ByteLevel with a model of kind unigram is not supported"));
}

TEST(PostProcessors, ThatBothPutTokensAroundAreRefused) {
  Json root = bpe();
  const Json bert{{"type", "BertProcessing"}, {"cls", {"a", 1}}, {"sep", {"b", 2}}};
  const Json bytes{{"type", "ByteLevel"}};
  root["post_processor"] = {{"type", "Sequence"}, {"processors", Json::array({bytes, bert})}};
  EXPECT_THAT(tokenizer_of(root).encode("c", 0), ElementsAre(1, 3, 2));
  Json roberta = bert;
  roberta["type"] = "RobertaProcessing";
  root["post_processor"]["processors"].push_back(roberta);
  EXPECT_THAT(refusal(root), HasSubstr("BertProcessing and RobertaProcessing both put tokens around"));
}

TEST(PostProcessors, PutAFewThousandTokensAroundAtMost) {
  Json root = bpe();
  root["post_processor"] = {{"type", "TemplateProcessing"},
                            {"single", Json::array({Json{{"SpecialToken", {{"id", "x"}, {"type_id", 0}}}},
                                                    Json{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}})},
                            {"pair", nullptr},
                            {"special_tokens", {{"x", {{"ids", std::vector<int64_t>(4097, 1)}}}}}};
  EXPECT_THAT(refusal(root), HasSubstr("puts more than 4096 tokens around"));
}

TEST(Charsmap, PathsThatLeadBackEnd) {
  std::vector<uint32_t> units(512);
  units[0] = 256 << 10;
  units[256 ^ 'x'] = 'x' | ('x' << 10);  // its children are those of the root
  AlignedText text = AlignedText::of("xxxxxx", false);
  Charsmap(charsmap_bytes(units, "q"), "m").apply(text);
  EXPECT_EQ(text.text, "xxxxxx");
}

std::vector<std::string> pieces(const char* name, std::string_view text) {
  const Matcher match = find_split_pattern(split_pattern_of(name))->match;
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::max(match(text, at), at + 1);
    out.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

TEST(SplitPatterns, GiveTheLastBlankToTheWordBehindIt) {
  EXPECT_THAT(pieces("gpt2", "a   b 12 don't!?  "), ElementsAre("a", "  ", " b", " 12", " don", "'t", "!?", "  "));
  EXPECT_THAT(pieces("llama3", "1234\n\n  DON'T"), ElementsAre("123", "4", "\n\n", " ", " DON", "'T"));
  EXPECT_THAT(pieces("qwen2", "12 x"), ElementsAre("1", "2", " x"));
  EXPECT_THAT(pieces("o200k", "HTTPServer's //\n"), ElementsAre("HTTPServer's", " //\n"));
  EXPECT_THAT(pieces("o200k", "camelCase"), ElementsAre("camel", "Case"));
}

TEST(Utf8Stream, HoldsBackWhatIsNotComplete) {
  Utf8Stream stream;
  EXPECT_EQ(stream.add("\xf0\x9f"), "");
  EXPECT_EQ(stream.add("\x98"), "");
  EXPECT_EQ(stream.add("\x80z"), "\U0001f600z");
  EXPECT_EQ(stream.add("\xf0\x9fz"), "\ufffdz");
  EXPECT_EQ(stream.add("\xff\xc3"), "\ufffd");
  EXPECT_EQ(stream.finish(), "\ufffd");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Decoding, IdsThatAreNoTokensAreErrors) {
  const Tokenizer tokenizer = tokenizer_of(bpe());
  for (const int64_t id : {int64_t{-1}, int64_t{9}, int64_t{1} << 40})
    EXPECT_THAT(error_of([&] { tokenizer.decode(std::vector{id}, false); }),
                HasSubstr("is the id of no token; there are 9"));
}

TEST(Decoding, StepsThatNeedTokensMayNotStandBehindAWholeText) {
  for (const Json& whole : {Json{{"type", "Fuse"}}, Json{{"type", "ByteLevel"}}}) {
    Json root = bpe();
    const auto error = [&](const Json& behind) {
      root["decoder"] = {{"type", "Sequence"}, {"decoders", Json::array({whole, behind})}};
      return error_of([&] { tokenizer_of(root).decode(std::vector<int64_t>{1}, false); });
    };
    EXPECT_THAT(error(Json{{"type", "Replace"}, {"pattern", {{"String", "ab"}}}, {"content", "c"}}),
                HasSubstr("type \"Replace\" behind Fuse or ByteLevel"));
    EXPECT_THAT(error(Json{{"type", "WordPiece"}}), HasSubstr("type \"WordPiece\" behind Fuse or ByteLevel"));
    EXPECT_EQ(error(Json{{"type", "Fuse"}}), "");
    EXPECT_EQ(error(Json{{"type", "Strip"}, {"content", "a"}, {"start", 1}}), "");
  }
}

TEST(Decoding, SchemesThatAreNotKnownAreRefused) {
  Json root = bpe();
  root["decoder"] = {{"type", "Metaspace"}, {"prepend_scheme", "sometimes"}};
  EXPECT_THAT(error_of([&] { tokenizer_of(root).decode(std::vector<int64_t>{1}, false); }),
              HasSubstr("prepend_scheme \"sometimes\"; expected always, first or never"));
}

TEST(Truncation, OnTheLeftKeepsTheEnd) {
  Json root = bpe();
  root["truncation"] = {{"direction", "Left"}, {"max_length", 2}, {"strategy", "LongestFirst"}, {"stride", 0}};
  const Tokens tokens = tokenizer_of(root).encode_text("cabca", EncodeOptions{.max_length = 2, .ranges = true});
  EXPECT_THAT(tokens.ids, ElementsAre(6, 1));
  EXPECT_THAT(tokens.ranges, ElementsAre(TextRange{1, 4}, TextRange{4, 5}));
  EXPECT_EQ(tokens.left_out, 1);
}

TEST(TokenizerJsonText, IsReadAsParseJsonReadsIt) {
  for (const char* text :
       {R"({"a": [1, -2, 3.5e2, "x\n\u00e9\ud83d\ude00", true, null, {}]})", R"({"model": {"k": [[]]}})"})
    EXPECT_EQ(read_tokenizer_json(text, "t").root, parse_json(text, "t")) << text;
  for (const char* text : {"{", "{\"a\"}", "{\"a\": 01}", "{\"a\": 1,}", "{\"a\": \"\\x\"}", "{\"a\": \"\\ud83d\"}",
                           "{\"a\": \"\n\"}", "{} x", "{\"a\": tru}", "{\"a\": 1.}", "{\"a\": -}", "[1 2]"}) {
    EXPECT_THAT(error_of([&] { read_tokenizer_json(text, "t"); }), HasSubstr("t: not valid JSON")) << text;
    EXPECT_NE(error_of([&] { parse_json(text, "t"); }), "") << text;
  }
}

TEST(TokenizerJsonText, NumbersThatAreTooLargeAreRefused) {
  EXPECT_THAT(error_of([] { read_tokenizer_json(R"({"a": 1e999})", "t"); }),
              HasSubstr("the number 1e999 is too large"));
  EXPECT_EQ(read_tokenizer_json(R"({"a": 1e-999})", "t").root, parse_json(R"({"a": 0.0})", "t"));
}

TEST(ByteBpeFiles, AVocabularyIsOneObject) {
  const auto opened = [](const std::string& vocabulary) {
    return error_of([&] {
      Tokenizer::from_files({{"vocab.json", vocabulary},
                             {"merges.txt", ""},
                             {"tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer"})"}},
                            "m");
    });
  };
  EXPECT_EQ(opened(R"({"a": 0, "<|endoftext|>": 1})"), "");
  for (const char* more :
       {R"({"a": 0}, "byte_fallback": true)", R"({"a": 0}}, "padding": {"pad_id": 0)", R"([["a", 0]])", "null"})
    EXPECT_THAT(opened(more), HasSubstr("m: vocab.json: is not one JSON object")) << more;
}

TEST(Base64, IsReadAndWritten) {
  for (const std::string bytes : {"", "a", "ab", "abc", "\xff\x00\x10\x80"})
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  EXPECT_FALSE(from_base64("a"));
  EXPECT_FALSE(from_base64("ab c"));
}

}  // namespace
}  // namespace hone
