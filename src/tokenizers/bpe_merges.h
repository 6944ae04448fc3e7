// The merges of byte-pair encoding: which two neighbours become one token, and which go first.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tokenizers/token_model.h"

namespace hone {

class BpeMerges {
 public:
  void reserve(size_t merges);
  // A pair that is there already gets the later rank.
  void add(int32_t left, int32_t right, uint32_t rank, int32_t result);

  // Merges neighbours among tokens[from...] until none is left: the pair of the lowest rank first, of several the
  // leftmost.
  void merge(std::vector<PieceToken>& tokens, size_t from) const;

 private:
  struct Slot {
    uint64_t pair;
    uint32_t rank;
    int32_t result;
  };
  static constexpr uint64_t kFree = ~uint64_t{0};
  const Slot* find(int32_t left, int32_t right) const;
  Slot& slot_of(uint64_t pair);
  void rebuild(size_t slots);
  void merge_few(std::vector<PieceToken>& tokens, size_t from) const;
  void merge_many(std::vector<PieceToken>& tokens, size_t from) const;

  std::vector<Slot> slots_;  // a power of two of them
  size_t size_ = 0;
};

}  // namespace hone
