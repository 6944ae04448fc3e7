// The text normalisation of BERT tokenizers.
#pragma once

#include <string>

#include "base/json.h"
#include "tokenizers/aligned_text.h"

namespace hone {

// Hugging Face's BertNormalizer: steps in this order.
struct BertNormalizer {
  bool clean_text = true;            // drop control characters, make every white space a blank
  bool handle_chinese_chars = true;  // blanks around ideographs
  bool strip_accents = true;         // NFD, then drop nonspacing marks
  bool lowercase = true;
};

BertNormalizer read_bert_normalizer(const Json& json, const std::string& source);

// Applies the steps that are on.
void normalise(AlignedText& text, const BertNormalizer& steps);

}  // namespace hone
