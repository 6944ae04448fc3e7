// The files in which Hugging Face's libraries keep a tokenizer: in a model's folder, and by these names in what rides
// along with a model. What they say is read in data/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace hone {

inline constexpr const char *kTokenizerJson = "tokenizer.json", *kVocabTxt = "vocab.txt",
                            *kTokenizerConfig = "tokenizer_config.json", *kSpecialTokensMap = "special_tokens_map.json",
                            *kAddedTokens = "added_tokens.json";
// Those that say how the first or second is used.
inline constexpr const char* kTokenizerSettings[] = {kTokenizerConfig, kSpecialTokensMap, kAddedTokens};

// Of files by name.
inline bool has_tokenizer(const std::map<std::string, std::string>& files) {
  return files.contains(kTokenizerJson) || files.contains(kVocabTxt);
}

// A folder's, as text.
struct TokenizerFiles {
  std::optional<std::string> tokenizer_json;
  std::optional<std::string> vocab_txt;
  std::map<std::string, std::string> settings;  // by file, of kTokenizerSettings
  bool lowercase = true;                        // do_lower_case of kTokenizerConfig
  int64_t max_length = 0;  // tokens a text is cut to: max_seq_length, else model_max_length; 0 when not stated
};

}  // namespace hone
