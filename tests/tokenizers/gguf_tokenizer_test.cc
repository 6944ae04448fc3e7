// Tokenizers of GGUF files that a person can check, and what is refused.
#include "tokenizers/gguf_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <list>

#include "tests/support/error_of.h"
#include "tokenizers/tokenizer.h"

namespace hone {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using Type = GgufValue::Type;

// Metadata and the bytes that it looks at.
class Made {
 public:
  Made& text(const std::string& key, const std::string& value) { return texts(key, {value}, false); }
  Made& texts(const std::string& key, const std::vector<std::string>& values, bool is_array = true) {
    GgufValue value{.type = is_array ? Type::array : Type::string, .element = Type::string, .count = values.size()};
    for (const std::string& each : values) value.strings.push_back(texts_.emplace_back(each));
    return add(key, std::move(value));
  }
  template <class T>
  Made& numbers(const std::string& key, Type type, const std::vector<T>& values, bool is_array = true) {
    std::vector<std::byte>& bytes = numbers_.emplace_back(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return add(key, {.type = is_array ? Type::array : type, .element = type, .count = values.size(), .bytes = bytes});
  }
  Made& id(const std::string& name, uint32_t value) {
    return numbers<uint32_t>("tokenizer.ggml." + name + "_token_id", Type::u32, {value}, false);
  }
  Made& flag(const std::string& name, bool value) {
    return numbers<uint8_t>("tokenizer.ggml." + name, Type::boolean, {value}, false);
  }
  Made& types(const std::vector<int32_t>& types) { return numbers("tokenizer.ggml.token_type", Type::i32, types); }

  std::string error() const {
    return error_of([&] { tokenizer_of_gguf(metadata_); });
  }
  Tokenizer tokenizer() const {
    return Tokenizer::from_json(write_tokenizer_json(tokenizer_of_gguf(metadata_)), "m.gguf");
  }

 private:
  Made& add(const std::string& key, GgufValue value) {
    metadata_.add(key, std::move(value));
    return *this;
  }
  std::list<std::string> texts_;
  std::list<std::vector<std::byte>> numbers_;
  GgufMetadata metadata_{"m.gguf"};
};

Made bpe(const std::string& pre) {
  Made made;
  made.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", pre);
  made.texts("tokenizer.ggml.tokens", {"<|end|>", "a", "b", "1", "2", "Ġ", "ab", "12", "Ġab"});
  made.texts("tokenizer.ggml.merges", {"a b", "1 2", "Ġ ab"}).types({3, 1, 1, 1, 1, 1, 1, 1, 1});
  return made;
}

TEST(GgufTokenizer, BytePairsAreSplitAsTheirNameSays) {
  EXPECT_THAT(bpe("gpt-2").tokenizer().encode("ab12 ab", 0), ElementsAre(6, 7, 8));
  EXPECT_THAT(bpe("smollm").tokenizer().encode("ab12 ab", 0), ElementsAre(6, 3, 4, 8));
  EXPECT_THAT(bpe("qwen2").tokenizer().encode("ab12 ab", 0), ElementsAre(6, 3, 4, 8));
  EXPECT_THAT(bpe("gpt-2").tokenizer().encode("ab<|end|>b", 0), ElementsAre(6, 0, 2));
  EXPECT_EQ(bpe("gpt-2").tokenizer().decode(std::vector<int64_t>{6, 0, 8}, true), "ab ab");
}

TEST(GgufTokenizer, OwnTokensStandWhereTheFileWantsThem) {
  Made both = bpe("gpt-2");
  both.flag("add_bos_token", true).flag("add_eos_token", true).id("bos", 0).id("eos", 0).id("padding", 0);
  EXPECT_THAT(both.tokenizer().encode("ab", 0), ElementsAre(0, 6, 0));
  EXPECT_EQ(both.tokenizer().spec().pad_id, 0);
  Made llama = bpe("llama-bpe");  // where the file does not say
  EXPECT_THAT(llama.error(), HasSubstr("\"tokenizer.ggml.bos_token_id\" is missing: add_bos_token puts it in front"));
  llama.id("bos", 0);
  EXPECT_THAT(llama.tokenizer().encode("ab", 0), ElementsAre(0, 6));
}

TEST(GgufTokenizer, AWayToSplitThatIsNotKnownIsRefused) {
  for (const char* pre : {"default", "", "smolm"})
    EXPECT_THAT(bpe(pre).error(), HasSubstr("a way to split texts that is not known; known: gpt-2, phi-2")) << pre;
  Made without;
  without.text("tokenizer.ggml.model", "gpt2");
  EXPECT_THAT(without.error(), HasSubstr("\"tokenizer.ggml.pre\" is missing"));
  Made other;
  other.text("tokenizer.ggml.model", "rwkv");
  EXPECT_THAT(other.error(), HasSubstr("is \"rwkv\", a kind of tokenizer that is not read"));
}

Made sentencepiece() {
  Made made;
  made.text("tokenizer.ggml.model", "llama").text("tokenizer.ggml.pre", "default");
  made.texts("tokenizer.ggml.tokens", {"<unk>", "<s>", "<0x78>", "▁", "a", "b", "ab", "▁ab"})
      .types({2, 3, 6, 1, 1, 1, 1, 1});
  made.numbers<float>("tokenizer.ggml.scores", Type::f32, {0, 0, 0, -4, -5, -6, -1, -2}).id("unknown", 0).id("bos", 1);
  return made;
}

TEST(GgufTokenizer, PiecesWithScoresMergeBestFirst) {
  EXPECT_THAT(sentencepiece().tokenizer().encode("ab ab", 0), ElementsAre(1, 7, 7));
  EXPECT_THAT(sentencepiece().tokenizer().encode("abx", 0), ElementsAre(1, 7, 2));
  Made plain = sentencepiece();
  plain.flag("add_space_prefix", false).flag("add_bos_token", false);
  EXPECT_THAT(plain.tokenizer().encode("ab ab", 0), ElementsAre(6, 7));
}

TEST(GgufTokenizer, WordPiecesAreMarkedAsBertMarksThem) {
  Made made;
  made.text("tokenizer.ggml.model", "bert");
  made.texts("tokenizer.ggml.tokens", {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁play", "ing", "▁the", "[PAD7]"})
      .types({3, 2, 3, 3, 1, 1, 1, 5});
  made.id("unknown", 1).id("cls", 2).id("seperator", 3).id("padding", 0);
  EXPECT_THAT(made.tokenizer().encode("The playing x", 0), ElementsAre(2, 6, 4, 5, 1, 3));
  EXPECT_EQ(made.tokenizer().decode(std::vector<int64_t>{6, 4, 5}, true), "the playing");
}

TEST(GgufTokenizer, WhatDoesNotGoTogetherIsRefused) {
  Made few;
  few.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
  few.texts("tokenizer.ggml.tokens", {"a", "b"}).types({1});
  EXPECT_THAT(few.error(), HasSubstr("token_type has 1 entries for 2 tokens"));
  Made scores;
  scores.text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", {"a", "b"});
  scores.numbers<float>("tokenizer.ggml.scores", Type::f32, {0});
  EXPECT_THAT(scores.error(), HasSubstr("scores has 1 entries for 2 tokens"));
  Made twice;
  twice.text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", "gpt-2")
      .texts("tokenizer.ggml.tokens", {"a", "a"});
  EXPECT_THAT(twice.error(), HasSubstr("token 1, \"a\", is there twice"));
  Made beyond = bpe("gpt-2");
  beyond.id("padding", 9);
  EXPECT_THAT(beyond.error(), HasSubstr("padding_token_id is 9; there are 9 tokens"));
  Made invalid;
  invalid.text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", "gpt-2")
      .texts("tokenizer.ggml.tokens", {"\xff"});
  EXPECT_THAT(invalid.error(), HasSubstr("token 0 is not valid UTF-8"));
  Made merges;
  merges.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2").texts("tokenizer.ggml.tokens", {"a"});
  merges.texts("tokenizer.ggml.merges", {"ab"});
  EXPECT_THAT(merges.error(), HasSubstr("has \"ab\"; expected two texts with a blank between"));
  Made nothing = bpe("gpt-2");
  EXPECT_EQ(nothing.error(), "");
}

}  // namespace
}  // namespace hone
