// Words that were tokenised before, with their tokens: texts repeat their words.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizers/token_model.h"

namespace hone {

// A table of a fixed number of words, those that come first. Threads read and add without waiting: an entry never
// changes once it is there, and goes with the table.
class WordMemo {
 public:
  WordMemo();
  ~WordMemo();

  // The word's tokens by the model, or from the table.
  void tokenize(const TokenModel& model, std::string_view word, std::vector<PieceToken>& out) const;

  struct Entry;

 private:
  static constexpr size_t kSlots = 1 << 15;
  static constexpr size_t kProbes = 4;        // slots that are looked at for a word
  static constexpr size_t kLongestWord = 64;  // bytes; longer ones are rare, so that a table is some 3 MB at most
  void remember(std::atomic<Entry*>& slot, uint64_t hash, std::string_view word,
                std::span<const PieceToken> tokens) const;
  std::unique_ptr<std::atomic<Entry*>[]> slots_;
};

}  // namespace hone
