// Byte-pair encoding of characters; those without a token are the tokens of their bytes, or unknown. Llama 2, Mistral,
// Phi-3, Gemma.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizers/bpe_model.h"
#include "tokenizers/tokenizer_def.h"
#include "tokenizers/word_memo.h"

namespace hone {
namespace {

constexpr std::string_view kWordMark = "▁";

// Whether no merge joins a word's mark to what stands before it: then texts can be cut there, to the same tokens.
bool keeps_words_apart(const MergeList& merges) {
  for (size_t i = 0; i < merges.size(); ++i)
    if (merges[i].second.starts_with(kWordMark) && !merges[i].first.ends_with(kWordMark)) return false;
  return true;
}

class Bpe final : public TokenModel {
 public:
  Bpe(BpeParts parts, bool cuts_words, const std::string& source) : parts_(std::move(parts)) {
    const Vocabulary& vocabulary = *parts_.vocabulary;
    bool has_bytes = parts_.byte_fallback;
    for (size_t byte = 0; byte < 256; ++byte) {
      bytes_[byte] = static_cast<int32_t>(vocabulary.find(fmt::format("<0x{:02X}>", byte)));
      has_bytes = has_bytes && bytes_[byte] >= 0;
    }
    if (parts_.byte_fallback && !has_bytes && parts_.unknown < 0)
      fail("{}: model: byte_fallback needs the tokens <0x00> to <0xFF>, or an unk_token", source);
    cuts_words_ = cuts_words && !parts_.ignore_merges && parts_.prefix.empty() && parts_.suffix.empty() &&
                  vocabulary.find(kWordMark) >= 0;
  }

  void tokenize(std::string_view piece, std::vector<PieceToken>& out) const override {
    if (!cuts_words_) return tokenize_word(piece, out);
    for (size_t begin = 0; begin < piece.size();) {
      const size_t end = end_of_word(piece, begin), before = out.size();
      memo_.tokenize(words_, piece.substr(begin, end - begin), out);
      for (size_t i = before; begin > 0 && i < out.size(); ++i)
        out[i].begin += static_cast<uint32_t>(begin), out[i].end += static_cast<uint32_t>(begin);
      begin = end;
    }
  }

 private:
  // The model of a single word, as the memo asks for it.
  class Words final : public TokenModel {
   public:
    explicit Words(const Bpe& all) : all_(all) {}
    void tokenize(std::string_view word, std::vector<PieceToken>& out) const override { all_.tokenize_word(word, out); }

   private:
    const Bpe& all_;
  };

  // The next mark that stands behind something else.
  static size_t end_of_word(std::string_view piece, size_t begin) {
    while (piece.substr(begin).starts_with(kWordMark)) begin += kWordMark.size();
    return std::min(piece.find(kWordMark, begin), piece.size());
  }

  void tokenize_word(std::string_view word, std::vector<PieceToken>& out) const {
    const auto size = static_cast<uint32_t>(word.size());
    if (parts_.ignore_merges)
      if (const int64_t whole = parts_.vocabulary->find(word); whole >= 0)
        return out.push_back({static_cast<int32_t>(whole), 0, size}), void();
    const size_t from = out.size();
    bool was_unknown = false;
    for (uint32_t at = 0; at < size;) {
      const uint32_t end = at + static_cast<uint32_t>(utf8_length(word[at]));
      const std::string_view character = word.substr(at, end - at);
      const int64_t id = symbol(character, at == 0, end == size);
      const bool is_unknown = id < 0 && !add_bytes(character, at, out);
      if (id >= 0) out.push_back({static_cast<int32_t>(id), at, end});
      else if (is_unknown && was_unknown && parts_.fuse_unknown) out.back().end = end;
      else if (is_unknown && parts_.unknown >= 0) out.push_back({static_cast<int32_t>(parts_.unknown), at, end});
      was_unknown = is_unknown && parts_.unknown >= 0;
      at = end;
    }
    parts_.merges.merge(out, from);
  }

  int64_t symbol(std::string_view character, bool is_first, bool is_last) const {
    const bool is_plain = (is_first || parts_.prefix.empty()) && (!is_last || parts_.suffix.empty());
    if (is_plain) return parts_.vocabulary->find(character);
    const std::string begin = is_first ? std::string(character) : parts_.prefix + std::string(character);
    return parts_.vocabulary->find(begin, is_last ? parts_.suffix : "");
  }

  bool add_bytes(std::string_view character, uint32_t at, std::vector<PieceToken>& out) const {
    if (!parts_.byte_fallback) return false;
    for (const char c : character)
      if (bytes_[static_cast<unsigned char>(c)] < 0) return false;
    for (const char c : character) out.push_back({bytes_[static_cast<unsigned char>(c)], at, at + 1}), ++at;
    return true;
  }

  BpeParts parts_;
  std::array<int32_t, 256> bytes_;
  bool cuts_words_ = false;
  Words words_{*this};
  WordMemo memo_;
};

}  // namespace

extern constinit const TokenizerDef bpe_def{
    .name = "bpe",
    .doc = "byte-pair encoding of characters, with bytes for those that have no token (Llama 2, Mistral, Phi-3, Gemma)",
    .recognises = [](const Json& root) { return is_bpe(root) && !is_byte_level(root); },
    .read = [](const TokenizerJson& json, const std::string& source) -> std::shared_ptr<const TokenModel> {
      return std::make_shared<Bpe>(read_bpe(json, source), keeps_words_apart(json.merges), source);
    }};

}  // namespace hone
