// Models of SentencePiece that a person can check: as transformers converts them, or refused.
#include "tokenizers/sentencepiece_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "tests/support/error_of.h"
#include "tokenizers/tokenizer.h"

namespace hone {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string number(uint64_t field, uint64_t value) { return varint(field << 3) + varint(value); }
std::string text(uint64_t field, const std::string& bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
}

struct TestPiece {
  std::string piece;
  float score = 0;
  uint64_t type = 1;  // 2: unknown, 3: control, 4: user defined
};

std::string model_of(const std::vector<TestPiece>& pieces, uint64_t kind, uint64_t unknown,
                     bool byte_fallback = false) {
  std::string bytes;
  for (const TestPiece& p : pieces) {
    const auto score = std::bit_cast<uint32_t>(p.score);
    std::string message = text(1, p.piece) + varint(2 << 3 | 5);
    for (int shift = 0; shift < 32; shift += 8) message += static_cast<char>(score >> shift & 0xff);
    bytes += text(1, message + number(3, p.type));
  }
  return bytes + text(2, number(3, kind) + number(35, byte_fallback) + number(40, unknown));
}

Tokenizer opened(const char* name, const std::string& model) {
  const std::string config = std::string(R"({"tokenizer_class": ")") + name + R"("})";
  return Tokenizer::from_files({{"spiece.model", model}, {"tokenizer_config.json", config}}, "m");
}

const AddedToken* added(const TokenizerSpec& spec, const std::string& token) {
  const auto found = std::ranges::find(spec.added, token, &AddedToken::text);
  return found == spec.added.end() ? nullptr : &*found;
}

const std::vector<TestPiece> kLlama{{"<unk>", 0, 2}, {"<s>", 0, 3}, {"</s>", 0, 3}, {"a", -1}, {"b", -2}, {"ab", -1}};
constexpr uint64_t kUnigram = 1, kBpe = 2;

TEST(SentencePieceFiles, PiecesMayBeAThousandBytesLong) {
  std::vector<TestPiece> pieces = kLlama;
  pieces.push_back({std::string(1024, 'b'), -3});
  EXPECT_EQ(error_of([&] { opened("LlamaTokenizer", model_of(pieces, kBpe, 0)); }), "");
  pieces.back().piece += 'b';
  EXPECT_THAT(error_of([&] { opened("LlamaTokenizer", model_of(pieces, kBpe, 0)); }),
              HasSubstr("a piece has 1025 bytes; at most 1024 are accepted"));
}

TEST(SentencePieceFiles, ControlAndUserDefinedPiecesAreAddedTokens) {
  std::vector<TestPiece> pieces = kLlama;
  pieces.push_back({"<c>", 0, 3});
  pieces.push_back({"ba", 0, 4});
  const Tokenizer tokenizer = opened("LlamaTokenizer", model_of(pieces, kBpe, 0));
  const AddedToken *control = added(tokenizer.spec(), "<c>"), *defined = added(tokenizer.spec(), "ba");
  ASSERT_TRUE(control && defined);
  EXPECT_TRUE(control->special && !control->normalized);
  EXPECT_TRUE(!defined->special && !defined->normalized);
  EXPECT_FALSE(added(tokenizer.spec(), "ab"));
}

TEST(SentencePieceFiles, UnigramModelsFallBackToNoBytes) {
  const std::vector<TestPiece> pieces{{"[PAD]", 0, 3}, {"[CLS]", 0, 3}, {"[SEP]", 0, 3},
                                      {"[UNK]", 0, 2}, {"▁", -1},       {"a", -1}};  // and no <0x..>
  const Tokenizer tokenizer = opened("DebertaV2Tokenizer", model_of(pieces, kUnigram, 3, true));
  EXPECT_THAT(tokenizer.encode("ax", 0), ElementsAre(1, 4, 5, 3, 2));
}

TEST(SentencePieceFiles, DebertasMaskIsAddedWhereTheFileLacksIt) {
  const std::vector<TestPiece> pieces{{"[PAD]", 0, 3}, {"[CLS]", 0, 3}, {"[SEP]", 0, 3},
                                      {"[UNK]", 0, 2}, {"▁", -1},       {"a", -1}};
  const TokenizerSpec spec = opened("DebertaV2Tokenizer", model_of(pieces, kUnigram, 3)).spec();
  const AddedToken *mask = added(spec, "[MASK]"), *unknown = added(spec, "[UNK]");
  ASSERT_TRUE(mask && unknown);
  EXPECT_EQ(mask->id, 6);
  EXPECT_TRUE(mask->special && unknown->special);
  EXPECT_EQ(spec.pad_id, 0);
}

TEST(SentencePieceFiles, ScoresAreFinite) {
  for (const float score : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<TestPiece> pieces = kLlama;
    pieces.back().score = score;
    EXPECT_THAT(error_of([&] { opened("LlamaTokenizer", model_of(pieces, kBpe, 0)); }),
                HasSubstr("the score of piece 5, \"ab\""));
  }
}

}  // namespace
}  // namespace hone
