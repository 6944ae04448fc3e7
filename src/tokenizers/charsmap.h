// SentencePiece's precompiled_charsmap: a double-array trie (Darts) from texts to what they are replaced by.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/aligned_text.h"

namespace hone {

class Charsmap {
 public:
  // `bytes`: the size of the trie in bytes, u32, its units, u32 each, and the replacements, each ended by NUL; all
  // little endian. Throws Error that names `source` when any path through the trie leads outside, or to no text.
  Charsmap(std::string_view bytes, const std::string& source);

  // Replaces what the tokenizers library replaces: a grapheme cluster of fewer than six bytes as a whole, by what the
  // shortest beginning of it maps to, else each of its characters by the same rule.
  void apply(AlignedText& text) const;

 private:
  const char* replacement(std::string_view text) const;  // nullptr: none
  void check(const std::string& source) const;
  std::vector<uint32_t> units_;
  std::string replacements_;
  std::array<bool, 128> is_plain_{};  // the character alone is replaced by nothing else
};

}  // namespace hone
