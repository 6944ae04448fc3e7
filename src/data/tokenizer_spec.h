// What a WordPiece tokenizer is made of, as stated by a tokenizer.json or implied by a vocab.txt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/vocabulary.h"

namespace hone {

// Hugging Face's BertNormalizer: steps in this order.
struct NormalizerSpec {
  bool clean_text = true;            // drop control characters, make every white space a blank
  bool handle_chinese_chars = true;  // blanks around ideographs
  bool strip_accents = true;         // NFD, then drop nonspacing marks
  bool lowercase = true;
};

// A text that is one token wherever it occurs.
struct AddedToken {
  std::string text;
  int64_t id = 0;
  bool lstrip = false, rstrip = false;  // takes the white space before, after it along
  bool normalized = false;  // looked for in the normalised text (its own text normalised too), not in the raw one
};

// A part of what a pair of texts becomes: one of the texts, or a token, and the type of its tokens.
struct PairPart {
  static constexpr int64_t kFirst = -1, kSecond = -2;
  int64_t token = kFirst;
  int64_t type = 0;
};

struct TokenizerSpec {
  NormalizerSpec normalizer;
  Vocabulary vocabulary;
  std::string continuing_prefix = "##";
  int64_t unknown_id = 0;
  int64_t max_characters_per_word = 100;  // longer words are unknown
  std::vector<AddedToken> added;
  std::vector<int64_t> before, after;  // around every text: [CLS], [SEP]
  std::vector<PairPart> pair;          // in order, e.g. [CLS], first, [SEP], second, [SEP]; none: pairs are not known
  std::optional<int64_t> pad_id;
  bool pad_left = false, truncate_left = false;
  int64_t stated_max_length = 0;  // of "truncation"; 0 when there is none
};

// `source` names the text in errors. Throws Error for another model, normalizer, pre-tokenizer or post-processor than
// those of BERT, and for keys that are not followed, naming what was found and what is supported.
TokenizerSpec parse_tokenizer_json(std::string_view text, const std::string& source);

// What BERT makes of a pair: [CLS], first, [SEP], second, [SEP].
std::vector<PairPart> bert_pair(int64_t cls, int64_t sep);

}  // namespace hone
