// Byte-pair encoding of bytes: any text has tokens, and none is unknown. GPT-2, RoBERTa, Llama 3, Qwen, CLIP, Whisper.
#include <array>
#include <span>

#include "base/error.h"
#include "tokenizers/bpe_model.h"
#include "tokenizers/byte_alphabet.h"
#include "tokenizers/byte_bpe_files.h"
#include "tokenizers/tokenizer_def.h"

namespace hone {
namespace {

class ByteBpe final : public TokenModel {
 public:
  ByteBpe(BpeParts parts, const std::string& source) : parts_(std::move(parts)) {
    if (!parts_.prefix.empty())
      fail("{}: model: continuing_subword_prefix \"{}\" with ByteLevel is not supported", source, parts_.prefix);
    for (size_t byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      const std::string letter = spelled_bytes({&c, 1});
      inner_[byte] = static_cast<int32_t>(parts_.vocabulary->find(letter));
      last_[byte] = static_cast<int32_t>(parts_.vocabulary->find(letter, parts_.suffix));
      if (parts_.byte_fallback && (inner_[byte] < 0 || last_[byte] < 0))
        fail("{}: model: byte_fallback with ByteLevel is not supported where a byte has no token, as 0x{:02X}", source,
             byte);
    }
  }

  void tokenize(std::string_view piece, std::vector<PieceToken>& out) const override {
    if (parts_.ignore_merges)
      if (const int64_t whole = parts_.vocabulary->find(spelled_bytes(piece)); whole >= 0)
        return out.push_back({static_cast<int32_t>(whole), 0, static_cast<uint32_t>(piece.size())}), void();
    const size_t from = out.size();
    bool was_unknown = false, is_short = false;
    for (uint32_t i = 0; i < piece.size(); ++i) {
      const auto byte = static_cast<unsigned char>(piece[i]);
      const int32_t id = i + 1 == piece.size() ? last_[byte] : inner_[byte];
      const bool is_unknown = id < 0;
      if (!is_unknown) out.push_back({id, i, i + 1});
      else if (was_unknown && parts_.fuse_unknown) out.back().end = i + 1;
      else if (parts_.unknown >= 0) out.push_back({static_cast<int32_t>(parts_.unknown), i, i + 1});
      was_unknown = is_unknown && parts_.unknown >= 0;
      is_short = is_short || (is_unknown && parts_.unknown < 0);
    }
    parts_.merges.merge(out, from);
    if (is_short) close_up(piece, std::span(out).subspan(from));
  }

 private:
  // A byte without a token leaves no trace, and the library counts on as if it had not been there: what tokens behind
  // it cover is moved forward by the length of its letter. Vocabularies that are cut down do without some bytes.
  void close_up(std::string_view piece, std::span<PieceToken> tokens) const {
    std::vector<uint32_t> letters,
        kept{0};  // the byte that each byte of the spelled piece is of; lengths of what is kept
    for (uint32_t i = 0; i < piece.size(); ++i) {
      const auto byte = static_cast<unsigned char>(piece[i]);
      const uint32_t bytes = letter_of_byte(byte) < 0x80 ? 1 : 2;
      letters.insert(letters.end(), bytes, i);
      kept.push_back(kept.back() + ((i + 1 == piece.size() ? last_[byte] : inner_[byte]) < 0 ? 0 : bytes));
    }
    for (PieceToken& token : tokens) token = {token.id, letters[kept[token.begin]], letters[kept[token.end] - 1] + 1};
  }

  BpeParts parts_;
  std::array<int32_t, 256> inner_, last_;  // tokens of the bytes, of the one that ends a piece; -1: none
};

}  // namespace

extern constinit const TokenizerDef byte_bpe_def{
    .name = "byte_bpe",
    .doc = "byte-pair encoding of bytes (GPT-2, RoBERTa, Llama 3, Qwen, SmolLM2, GPT-NeoX, o200k, Whisper, CLIP)",
    .recognises = [](const Json& root) { return is_bpe(root) && is_byte_level(root); },
    .read = [](const TokenizerJson& json, const std::string& source) -> std::shared_ptr<const TokenModel> {
      return std::make_shared<ByteBpe>(read_bpe(json, source), source);
    },
    .reads = has_byte_bpe_files,
    .convert = convert_byte_bpe_files};

}  // namespace hone
