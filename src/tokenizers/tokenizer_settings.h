// What a Hugging Face folder says of its tokenizer beside the vocabulary: tokenizer_config.json, and of older folders
// special_tokens_map.json and added_tokens.json.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/tokenizer_files.h"
#include "tokenizers/tokenizer_json.h"
#include "tokenizers/tokenizer_spec.h"

namespace hone {

struct TokenizerSettings {
  std::optional<bool> lowercase, strip_accents, handle_chinese_chars, keep_accents, pad_left, truncate_left;
  std::optional<bool> add_prefix_space, add_bos, add_eos, legacy, split_by_punct;
  std::optional<int64_t> extra_ids;
  std::map<std::string, AddedToken> specials;  // "unk_token" → "[UNK]"; without ids
  std::vector<AddedToken> added;               // first those of added_tokens_decoder,
  size_t decoded = 0;                          // of which there are so many, then those of added_tokens.json
  std::string tokenizer_class;  // without "Fast"; of config.json's model_type where no file states it; or empty
};

// `files` by name, of which others may be among them; `source` begins every error. Throws Error that names a key which
// changes tokens and is not followed.
TokenizerSettings read_tokenizer_settings(const std::map<std::string, std::string>& files, const std::string& source);

// What settings change of a tokenizer.json, as transformers does: sides, the padding token, how added tokens are found.
// Throws Error where the two contradict each other in what they say of the text.
void apply_settings(TokenizerSpec& spec, const TokenizerJson& json, const TokenizerSettings& settings,
                    const std::string& source);

}  // namespace hone
