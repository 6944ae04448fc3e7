// What stands beside a vocabulary: followed as transformers follows it, or refused by name.
#include "tokenizers/tokenizer_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/support/error_of.h"
#include "tokenizers/tokenizer.h"

namespace hone {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

using Files = std::map<std::string, std::string>;

constexpr const char* kVocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\nmüller\nmuller\nThe\n中\n##国\n<s>\n";

std::vector<int64_t> ids(const Files& files, const char* text) {
  const Tokenizer tokenizer = Tokenizer::from_vocab(kVocabulary, read_tokenizer_settings(files, "m"), "vocab.txt");
  return tokenizer.encode(text, 0);
}
std::vector<int64_t> ids(const char* config, const char* text) {
  return ids(Files{{"tokenizer_config.json", config}}, text);
}

TEST(TokenizerSettings, AccentsAndCaseAreKeptWhereTheConfigurationSaysSo) {
  EXPECT_THAT(ids("{}", "The Müller"), ElementsAre(2, 4, 6, 3));
  EXPECT_THAT(ids(R"({"do_lower_case": true, "strip_accents": false})", "The Müller"), ElementsAre(2, 4, 5, 3));
  EXPECT_THAT(ids(R"({"do_lower_case": false})", "The müller"), ElementsAre(2, 7, 5, 3));
  EXPECT_THAT(ids(R"({"do_lower_case": false, "strip_accents": true})", "The müller"), ElementsAre(2, 7, 6, 3));
}

TEST(TokenizerSettings, IdeographsStayInOneWordWhereTheConfigurationSaysSo) {
  EXPECT_THAT(ids("{}", "中国"), ElementsAre(2, 8, 1, 3));
  EXPECT_THAT(ids(R"({"tokenize_chinese_chars": false})", "中国"), ElementsAre(2, 8, 9, 3));
}

TEST(TokenizerSettings, SpecialTokensHaveTheNamesThatFilesGiveThem) {
  EXPECT_THAT(ids(R"({"cls_token": "<s>"})", "the"), ElementsAre(10, 4, 3));
  EXPECT_THAT(ids(R"({"cls_token": {"content": "<s>", "lstrip": false}})", "the"), ElementsAre(10, 4, 3));
  EXPECT_THAT(ids(Files{{"special_tokens_map.json", R"({"cls_token": "<s>"})"}}, "the"), ElementsAre(10, 4, 3));
  EXPECT_THAT(error_of([] {
                ids(Files{{"tokenizer_config.json", R"({"cls_token": "[CLS]"})"},
                          {"special_tokens_map.json", R"({"cls_token": "<s>"})"}},
                    "the");
              }),
              HasSubstr("make them agree"));
  EXPECT_THAT(error_of([] { ids(R"({"cls_token": "<none>"})", "the"); }), HasSubstr("<none> is missing"));
}

TEST(TokenizerSettings, AddedTokensAreOneTokenEach) {
  EXPECT_THAT(ids("{}", "<new>"), ElementsAre(2, 1, 1, 1, 3));
  EXPECT_THAT(ids(Files{{"added_tokens.json", R"({"<new>": 11})"}}, "the <new>"), ElementsAre(2, 4, 11, 3));
  EXPECT_THAT(ids(R"({"added_tokens_decoder": {"11": {"content": "<new>", "special": true}}})", "the<new>"),
              ElementsAre(2, 4, 11, 3));
  EXPECT_THAT(error_of([] { ids(R"({"added_tokens_decoder": {"3": {"content": "the"}}})", "the"); }),
              HasSubstr("\"the\" has id 3, and 4"));
  EXPECT_THAT(ids(R"({"added_tokens_decoder": {"11": {"content": "<new>", "single_word": true}}})", "the<new>"),
              ElementsAre(2, 4, 1, 1, 1, 3));
}

TEST(TokenizerSettings, TokensOfATokenizerJsonAreAsItSaysButForTheDecoders) {
  const std::string json = R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "added_tokens": [
      {"id": 1, "content": "<x>", "rstrip": true, "normalized": false, "special": true}]})";
  const auto token = [&](const char* name, const char* content) {
    return Tokenizer::from_files({{"tokenizer.json", json}, {name, content}}, "m").spec().added.at(0);
  };
  const AddedToken older = token("added_tokens.json", R"({"<x>": 1})");
  EXPECT_TRUE(older.rstrip && older.special && !older.normalized);
  const AddedToken decoded = token("tokenizer_config.json", R"({"added_tokens_decoder": {"1": {"content": "<x>"}}})");
  EXPECT_TRUE(!decoded.rstrip && !decoded.special && decoded.normalized);
}

TEST(TokenizerSettings, NamedTokensOfOlderFilesAreSpecial) {
  const TokenizerSettings settings = read_tokenizer_settings(
      {{"special_tokens_map.json", R"({"eos_token": "<e>"})"}, {"added_tokens.json", R"({"<e>": 11, "<f>": 12})"}},
      "m");
  ASSERT_EQ(settings.added.size(), 2u);
  EXPECT_TRUE(settings.added[0].special && !settings.added[0].normalized);
  EXPECT_TRUE(!settings.added[1].special && settings.added[1].normalized);
  EXPECT_THAT(error_of([] {
                read_tokenizer_settings({{"added_tokens.json", R"({"<e>": -1})"}}, "m");
              }),
              HasSubstr("key \"<e>\" is -1"));
}

TEST(TokenizerSettings, SidesAreFollowed) {
  const TokenizerSettings settings = read_tokenizer_settings(
      {{"tokenizer_config.json", R"({"padding_side": "left", "truncation_side": "left"})"}}, "m");
  const TokenizerSpec spec = Tokenizer::from_vocab(kVocabulary, settings, "v").spec();
  EXPECT_TRUE(spec.pad_left && spec.truncate_left);
}

// A setting of the library that changes tokens, at another value than its usual one.
TEST(TokenizerSettings, WhatIsNotFollowedIsRefusedByName) {
  for (const auto& [key, value] : std::vector<std::pair<const char*, Json>>{{"do_basic_tokenize", false},
                                                                            {"clean_text", false},
                                                                            {"wordpieces_prefix", "@@"},
                                                                            {"never_split", {"the"}},
                                                                            {"tokenizer_class", "RobertaTokenizer"},
                                                                            {"split_special_tokens", true},
                                                                            {"add_prefix_space", true},
                                                                            {"padding_side", "middle"},
                                                                            {"auto_map", {{"AutoTokenizer", "x.Y"}}},
                                                                            {"a_key_of_tomorrow", "on"}})
    EXPECT_THAT(error_of([&] {
                  ids(Json{{key, value}}.dump().c_str(), "the");
                }),
                HasSubstr(std::string("\"") + key + "\""));
}

TEST(TokenizerSettings, ThatContradictATokenizerJsonAreRefused) {
  const Json root{{"normalizer", {{"type", "BertNormalizer"}, {"lowercase", true}}},
                  {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                  {"model", {{"type", "WordPiece"}, {"unk_token", "a"}, {"vocab", {{"a", 0}}}}}};
  TokenizerSettings settings;
  settings.lowercase = true;
  Tokenizer::from_json(root.dump(), "m", settings);
  settings.strip_accents = false;
  EXPECT_THAT(error_of([&] { Tokenizer::from_json(root.dump(), "m", settings); }), HasSubstr("strip_accents"));
}

TEST(TokenizerSettings, SayWhetherTokensStandAroundTexts) {
  const std::string json = R"({"model": {"type": "BPE", "vocab": {"<s>": 0, "a": 1}, "merges": []}})";
  const auto opened = [&](const char* config) {
    return error_of([&] { Tokenizer::from_files({{"tokenizer.json", json}, {"tokenizer_config.json", config}}, "m"); });
  };
  EXPECT_EQ(opened(R"({"bos_token": "<s>", "add_bos_token": false})"), "");
  EXPECT_THAT(opened(R"({"bos_token": "<s>", "add_bos_token": true})"), HasSubstr("add_bos_token"));
}

}  // namespace
}  // namespace hone
