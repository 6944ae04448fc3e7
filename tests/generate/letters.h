// A tokenizer of a few letters, for models of so many tokens.
#pragma once

#include <array>
#include <string>

#include "base/json.h"
#include "tokenizers/tokenizer.h"

namespace hone::test {

// Tokens 0 to 2 are special; 3 and 4 are the two halves of é; the others are letters from f on.
inline std::string letters_json(int64_t tokens) {
  Json vocabulary = {{"<u>", 0}, {"<s>", 1}, {"</s>", 2}, {"\u00c3", 3}, {"\u00a9", 4}}, added = Json::array();
  vocabulary["\u00a9"] = 4;
  for (int64_t id = 5; id < tokens; ++id) vocabulary[std::string(1, static_cast<char>('a' + id))] = id;
  for (int64_t id = 0; id < 3; ++id)
    added.push_back({{"id", id},
                     {"content", std::array{"<u>", "<s>", "</s>"}[static_cast<size_t>(id)]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  const Json file = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", bytes},
                     {"post_processor", nullptr},
                     {"decoder", bytes},
                     {"model",
                      {{"type", "BPE"},
                       {"dropout", nullptr},
                       {"unk_token", nullptr},
                       {"continuing_subword_prefix", nullptr},
                       {"end_of_word_suffix", nullptr},
                       {"fuse_unk", false},
                       {"byte_fallback", false},
                       {"vocab", vocabulary},
                       {"merges", Json::array()}}}};
  return file.dump();
}

inline Tokenizer letters(int64_t tokens = 20) { return Tokenizer::from_json(letters_json(tokens), "letters"); }

}  // namespace hone::test
