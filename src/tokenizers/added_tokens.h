// Cuts a text at its added tokens ("[MASK]" in raw text is one token, not seven characters).
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "tokenizers/added_token.h"
#include "tokenizers/byte_trie.h"

namespace hone {

class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }

  struct Piece {
    std::string_view text;
    const AddedToken* token = nullptr;  // nullptr: text between tokens
  };
  // The text, valid UTF-8, in pieces from left to right; where several tokens start, the longest counts, and of equal
  // ones the first. White space that a token takes along (lstrip, rstrip) belongs to its piece; another token within
  // that space has its own piece besides, so that pieces may overlap. None is empty.
  std::vector<Piece> cut(std::string_view text) const;

 private:
  const AddedToken* token_at(std::string_view rest) const;
  std::vector<AddedToken> tokens_;
  ByteTrie trie_;                   // of the tokens' places
  std::array<bool, 256> starts_{};  // by first byte
};

}  // namespace hone
