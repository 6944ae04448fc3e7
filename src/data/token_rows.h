// The texts of a data set as tokens, made once: every epoch needs them, and batches of similar length need to know all
// lengths.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/memory_limit.h"
#include "data/dataset.h"
#include "tokenizers/tokenizer.h"

namespace hone {

class TokenRows {
 public:
  // Of texts, of pairs, or of words; at most max_length tokens a row (0: no limit). On all threads; held against the
  // memory limit. Throws Error when the data has no texts.
  TokenRows(const Dataset& data, const Tokenizer& tokenizer, int64_t max_length);

  int64_t rows() const { return std::ssize(left_out_); }
  int64_t length(int64_t row) const;
  std::span<const int32_t> ids(int64_t row) const { return part(ids_, row); }
  std::span<const int32_t> types(int64_t row) const { return part(types_, row); }      // none: all are 0
  std::span<const int32_t> words(int64_t row) const { return part(words_, row); }      // none: the rows are no words
  int64_t left_out(int64_t row) const { return left_out_[static_cast<size_t>(row)]; }  // tokens beyond max_length

 private:
  std::span<const int32_t> part(const std::vector<int32_t>& values, int64_t row) const;
  void append(const Tokens& tokens, bool is_pair, bool is_words);

  std::vector<int32_t> ids_, types_, words_;  // of all rows, one behind the other
  std::vector<size_t> begin_{0};              // of each row, and the end of the last
  std::vector<int64_t> left_out_;
  MemoryCharge charge_;
};

}  // namespace hone
