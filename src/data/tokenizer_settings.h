// What a Hugging Face folder says of its tokenizer beside the vocabulary: tokenizer_config.json, and of older folders
// special_tokens_map.json and added_tokens.json.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer_spec.h"
#include "io/tokenizer_files.h"

namespace hone {

struct TokenizerSettings {
  std::optional<bool> lowercase, strip_accents, handle_chinese_chars, pad_left, truncate_left;
  std::map<std::string, std::string> specials;  // "unk_token" → "[UNK]"
  std::vector<AddedToken> added;
};

// `files` by name, of which others may be among them; `source` begins every error. Throws Error that names a key which
// changes tokens and is not followed.
TokenizerSettings read_tokenizer_settings(const std::map<std::string, std::string>& files, const std::string& source);

// One token a line, id = line number from 0; what the settings call unk_token, cls_token and sep_token ([UNK], [CLS],
// [SEP]) must be among them.
TokenizerSpec parse_vocab_txt(std::string_view text, const TokenizerSettings& settings, const std::string& source);

// What settings change of a tokenizer.json, as transformers does: sides. Throws Error where the two contradict each
// other in what they say of the text.
void apply_settings(TokenizerSpec& spec, const TokenizerSettings& settings, const std::string& source);

}  // namespace hone
