// SentencePiece's unigram model: of all ways to cover a piece by tokens, the one with the largest sum of scores
// (Viterbi). XLM-R, ALBERT, T5, DeBERTa v2 and v3.
// Kudo, "Subword Regularization" (2018).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/stop.h"
#include "base/utf8.h"
#include "tokenizers/byte_trie.h"
#include "tokenizers/json_parts.h"
#include "tokenizers/sentencepiece_files.h"
#include "tokenizers/tokenizer_def.h"

namespace hone {
namespace {

class Unigram final : public TokenModel {
 public:
  Unigram(const TokenizerJson& json, const std::string& source) : vocabulary_(json.vocabulary), scores_(json.scores) {
    const Json& model = member(json.root, "model");
    check_keys(model, {{"type"}, {"vocab"}, {"unk_id"}, {"byte_fallback"}}, source);
    if (scores_.empty()) fail("{}: the vocabulary is empty, or has no scores", source);
    if (!member(model, "unk_id").is_null()) {
      const auto unknown = json_get<int64_t>(model, "unk_id", source);
      if (unknown < 0 || unknown >= std::ssize(scores_))
        fail("{}: unk_id is {}, and there are {} tokens", source, unknown, scores_.size());
      unknown_ = static_cast<int32_t>(unknown);
    }
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < scores_.size(); ++i) {
      const std::string_view text = vocabulary_->entry(i).text;
      if (!std::isfinite(scores_[i])) fail("{}: the score of token {}, \"{}\", is {}", source, i, text, scores_[i]);
      least = std::min(least, scores_[i]);
      if (!text.empty()) trie_.add(text, static_cast<int32_t>(i));
    }
    constexpr double kUnknownPenalty = 10;  // SentencePiece's kUnkPenalty
    unknown_score_ = least - kUnknownPenalty;
    has_bytes_ = get_or(model, "byte_fallback", false, source);
    for (size_t byte = 0; byte < 256 && has_bytes_; ++byte) {
      bytes_[byte] = static_cast<int32_t>(vocabulary_->find(fmt::format("<0x{:02X}>", byte)));
      if (bytes_[byte] < 0) fail("{}: byte_fallback needs the token <0x{:02X}>", source, byte);
    }
  }

  void tokenize(std::string_view piece, std::vector<PieceToken>& out) const override {
    const std::vector<Node>& best = best_ways(piece);
    const size_t from = out.size();
    // From the end backward; unknown characters in a row are one token.
    const auto size = static_cast<uint32_t>(piece.size());
    for (uint32_t end = size; end > 0;) {
      uint32_t begin = best[end].begin;
      const int32_t id = best[end].id;
      while (id == unknown_ && begin > 0 && best[begin].id == unknown_) begin = best[begin].begin;
      add(piece, {id, begin, end}, out);
      end = begin;
    }
    std::reverse(out.begin() + static_cast<int64_t>(from), out.end());
  }

 private:
  // The best way to cover a piece up to a byte: its score, and its last token.
  struct Node {
    double score = 0;
    uint32_t begin = kNone;
    int32_t id = 0;
    static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  };

  const std::vector<Node>& best_ways(std::string_view piece) const {
    thread_local std::vector<Node> best;
    best.assign(piece.size() + 1, {});
    for (size_t at = 0; at < piece.size(); at += utf8_length(piece[at])) {
      check_stop();
      const double score = best[at].score;
      const size_t character = utf8_length(piece[at]);
      bool is_known = false;
      const auto offer = [&](size_t bytes, int32_t id, double with) {
        Node& node = best[at + bytes];
        if (node.begin == Node::kNone || with > node.score) node = {with, static_cast<uint32_t>(at), id};
      };
      trie_.for_each_prefix(piece.substr(at), [&](size_t bytes, int32_t id) {
        offer(bytes, id, scores_[static_cast<size_t>(id)] + score);
        is_known = is_known || bytes == character;
      });
      if (!is_known) {
        if (unknown_ < 0)
          fail("the tokenizer has no token for \"{}\", and states no unk_id", piece.substr(at, character));
        offer(character, unknown_, unknown_score_ + score);
      }
    }
    return best;
  }

  // Tokens in reverse.
  void add(std::string_view piece, PieceToken token, std::vector<PieceToken>& out) const {
    const std::string_view text = piece.substr(token.begin, token.end - token.begin);
    if (token.id == unknown_) {
      const int64_t known = vocabulary_->find(text);
      if (known < 0 && has_bytes_) {
        for (auto c = text.rbegin(); c != text.rend(); ++c)
          out.push_back({bytes_[static_cast<unsigned char>(*c)], token.begin, token.end});
        return;
      }
      if (known >= 0) token.id = static_cast<int32_t>(known);
    }
    out.push_back(token);
  }

  std::shared_ptr<const Vocabulary> vocabulary_;
  std::vector<double> scores_;
  ByteTrie trie_;
  int32_t unknown_ = -1;
  double unknown_score_ = 0;
  bool has_bytes_ = false;
  std::array<int32_t, 256> bytes_{};
};

}  // namespace

extern constinit const TokenizerDef unigram_def{
    .name = "unigram",
    .doc = "SentencePiece's unigram model (XLM-R, CamemBERT, ALBERT, T5, DeBERTa v2 and v3)",
    .recognises =
        [](const Json& root) {
          const Json& model = member(root, "model");
          const Json& type = member(model, "type");
          return type.is_null() ? member(model, "vocab").is_array() : type == "Unigram";  // old files state no type
        },
    .read = [](const TokenizerJson& json, const std::string& source) -> std::shared_ptr<const TokenModel> {
      return std::make_shared<Unigram>(json, source + ": model");
    },
    .reads = has_sentencepiece,
    .convert = convert_sentencepiece};

}  // namespace hone
