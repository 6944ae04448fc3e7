// A text as tokens, without those of the model's own: added tokens, normalizer, pre-tokenizer and model, one behind the
// other.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/added_tokens.h"
#include "tokenizers/normalizer.h"
#include "tokenizers/pre_tokenizer.h"
#include "tokenizers/token_model.h"
#include "tokenizers/word_memo.h"

namespace hone {

struct TextTokens {
  // The bytes of the original that a token covers, and how many blanks are at the ends of the token.
  struct Place {
    Origin origin;
    uint32_t leading = 0, trailing = 0;
  };
  std::vector<int64_t> ids;
  std::vector<Place> places;  // none unless they are followed
};

class Encoder {
 public:
  Encoder(std::shared_ptr<const Normalizer> normalizer, PreTokenizers splitter, std::shared_ptr<const TokenModel> model,
          const std::vector<AddedToken>& added);

  // Appends a text's tokens.
  void encode(std::string_view text, bool followed, TextTokens& out) const;

  // The token as it is looked for: its text normalised where it is looked for in normalised text.
  AddedToken as_found(AddedToken token) const;

 private:
  void add_segment(const Piece& raw, TextTokens& out) const;
  void add_text(const Piece& piece, TextTokens& out) const;
  void add_piece(const Piece& piece, TextTokens& out) const;
  AddedTokenFinder finder(const std::vector<AddedToken>& added, bool normalized) const;

  std::shared_ptr<const Normalizer> normalizer_;
  PreTokenizers splitter_;
  std::shared_ptr<const TokenModel> model_;
  WordMemo memo_;
  AddedTokenFinder raw_tokens_, normalised_tokens_;
};

}  // namespace hone
