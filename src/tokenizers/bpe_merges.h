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
  // Merges are added in the order of their ranks. A pair that is there already gets the later one.
  void add(int32_t left, int32_t right, int32_t result);

  // Merges neighbours among tokens[from...] until none is left: the pair of the lowest rank first, of several the
  // leftmost.
  void merge(std::vector<PieceToken>& tokens, size_t from) const;

 private:
  struct Merge {
    int32_t left, right, result;
  };
  static constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t find(int32_t left, int32_t right) const;  // the pair's rank, or kNone
  uint32_t& slot_of(int32_t left, int32_t right);
  void rebuild(size_t slots);
  void merge_few(std::vector<PieceToken>& tokens, size_t from) const;
  void merge_many(std::vector<PieceToken>& tokens, size_t from) const;

  std::vector<Merge> merges_;    // by rank
  std::vector<uint32_t> slots_;  // ranks by pair: a hash table, small beside what it is of, as most pairs are none
};

}  // namespace hone
