// The model's own tokens around a text or a pair: the "post_processor" of a tokenizer.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace hone {

// A part of what texts become: one of the texts, or a token, and the type of its tokens.
struct PairPart {
  static constexpr int64_t kFirst = -1, kSecond = -2;
  int64_t token = kFirst;
  int64_t type = 0;
  bool operator==(const PairPart&) const = default;
};

struct PostProcessor {
  std::vector<PairPart> single{{PairPart::kFirst, 0}};  // in order, e.g. [CLS], first, [SEP]
  std::vector<PairPart> pair;  // e.g. [CLS], first, [SEP], second, [SEP]; none: pairs are not known
  bool trims_offsets = false;  // blanks at the ends of a token are not part of what it covers,
  bool keeps_prefix = false;   // but for one in front of the first, which the tokenizer has added
};

// Throws Error for types and keys that are not known, and templates that do not hold the texts once and in order.
PostProcessor read_post_processor(const Json& json, const std::string& source);

// What BERT makes of a pair: [CLS], first, [SEP], second, [SEP].
std::vector<PairPart> bert_pair(int64_t cls, int64_t sep);

}  // namespace hone
