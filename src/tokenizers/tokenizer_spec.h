// What users of a tokenizer ask about it, besides tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tokenizers/added_token.h"
#include "tokenizers/post_processor.h"

namespace hone {

struct TokenizerSpec {
  int64_t vocabulary_size = 0;  // tokens, added ones included
  std::vector<AddedToken> added;
  PostProcessor around;
  std::optional<int64_t> pad_id;
  bool pad_left = false, truncate_left = false;
  int64_t stated_max_length = 0;  // of "truncation"; 0 when there is none
};

}  // namespace hone
