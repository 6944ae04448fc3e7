// The files in which Hugging Face's libraries keep a tokenizer: in a model's folder, and by these names in what rides
// along with a model. What they say is read in tokenizers/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace hone {

inline constexpr const char *kTokenizerJson = "tokenizer.json", *kVocabTxt = "vocab.txt",
                            *kTokenizerConfig = "tokenizer_config.json", *kSpecialTokensMap = "special_tokens_map.json",
                            *kAddedTokens = "added_tokens.json", *kVocabJson = "vocab.json", *kMergesTxt = "merges.txt";
// What libraries call a model of SentencePiece.
inline constexpr const char* kSentencePieceModels[] = {"spiece.model", "sentencepiece.bpe.model", "tokenizer.model",
                                                       "spm.model"};
// Those that say how a vocabulary is used.
inline constexpr const char* kTokenizerSettings[] = {kTokenizerConfig, kSpecialTokensMap, kAddedTokens};

// A tokenizer is one of these sets; the first that is there is read.
inline constexpr const char* kTokenizerSets[][2] = {{kTokenizerJson, nullptr},
                                                    {kVocabTxt, nullptr},
                                                    {kVocabJson, kMergesTxt},
                                                    {"spiece.model", nullptr},
                                                    {"sentencepiece.bpe.model", nullptr},
                                                    {"tokenizer.model", nullptr},
                                                    {"spm.model", nullptr}};

// For messages: all of these.
inline constexpr const char* kTokenizerSetNames =
    "tokenizer.json, vocab.txt, vocab.json with merges.txt, or a model of SentencePiece";

// Of files by name.
inline bool has_tokenizer(const std::map<std::string, std::string>& files) {
  for (const auto& [first, second] : kTokenizerSets)
    if (files.contains(first) && (!second || files.contains(second))) return true;
  return false;
}

// A folder's, as text.
struct TokenizerFiles {
  std::map<std::string, std::string> vocabulary;  // by name, of the first of kTokenizerSets that is there; or none
  std::map<std::string, std::string> settings;    // by name, of kTokenizerSettings
  bool lowercase = true;                          // do_lower_case of kTokenizerConfig
  int64_t max_length = 0;  // tokens a text is cut to: max_seq_length, else model_max_length; 0 when not stated
};

}  // namespace hone
