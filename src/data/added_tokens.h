// Cuts a text at its added tokens ("[MASK]" in raw text is one token, not seven characters).
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "data/tokenizer_spec.h"

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
  // The text, valid UTF-8, in pieces from left to right; where several tokens start, the longest counts. White space
  // that a token takes along (lstrip, rstrip) belongs to its piece.
  std::vector<Piece> cut(std::string_view text) const;

 private:
  const AddedToken* token_at(std::string_view rest) const;
  std::vector<AddedToken> tokens_;  // longest first
  std::array<bool, 256> starts_{};  // by first byte
};

}  // namespace hone
