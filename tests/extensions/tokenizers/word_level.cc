// WordLevel: each piece is a token, or unknown.
#include "base/error.h"
#include "tokenizers/json_parts.h"
#include "tokenizers/tokenizer_def.h"

namespace hone {
namespace {

class WordLevel final : public TokenModel {
 public:
  WordLevel(const TokenizerJson& json, const std::string& source) : vocabulary_(json.vocabulary) {
    const Json& model = member(json.root, "model");
    check_keys(model, {{"type"}, {"vocab"}, {"unk_token"}}, source);
    const auto unknown = json_get<std::string>(model, "unk_token", source);
    unknown_ = vocabulary_->find(unknown);
    if (unknown_ == Vocabulary::kAbsent) fail("{}: unk_token \"{}\" is not in the vocabulary", source, unknown);
  }

  void tokenize(std::string_view piece, std::vector<PieceToken>& out) const override {
    const int64_t id = vocabulary_->find(piece);
    out.push_back({static_cast<int32_t>(id < 0 ? unknown_ : id), 0, static_cast<uint32_t>(piece.size())});
  }

 private:
  std::shared_ptr<const Vocabulary> vocabulary_;
  int64_t unknown_ = 0;
};

}  // namespace

extern constinit const TokenizerDef word_level_def{
    .name = "word_level",
    .doc = "each piece a token",
    .recognises = [](const Json& root) { return member(member(root, "model"), "type") == "WordLevel"; },
    .read = [](const TokenizerJson& json, const std::string& source) -> std::shared_ptr<const TokenModel> {
      return std::make_shared<WordLevel>(json, source + ": model");
    }};

}  // namespace hone
