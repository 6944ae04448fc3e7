// What a model that names hidden words is judged by: some of each text's tokens are hidden from it, and what they were
// is right.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "tokenizers/tokenizer.h"

namespace hone {

class MaskedWords {
 public:
  // Throws Error where the tokenizer has no token for hidden words ([MASK], <mask>).
  MaskedWords(Tokenizer tokenizer, uint64_t seed, const std::string& source);

  // ids, integers[rows or more, length], of the rows by these numbers: 15 in 100 of the text's own tokens are hidden,
  // at least one where there are any, and which follows from the seed and the row's number. Rows behind those stay.
  Tensor hidden(const Tensor& ids, std::span<const int64_t> rows) const;
  // The tokens at the hidden places, kIgnored (measure/metric.h) at others.
  std::vector<int64_t> right(const Tensor& ids, std::span<const int64_t> rows) const;

 private:
  std::vector<size_t> places(std::span<const int64_t> ids, int64_t row) const;

  const Tokenizer tokenizer_;
  const uint64_t seed_;
  int64_t mask_ = 0;
};

}  // namespace hone
