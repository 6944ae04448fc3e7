// What the kinds of byte-pair encoding share: their keys, their merges, and how pieces become symbols that are merged.
#pragma once

#include <memory>
#include <string>

#include "tokenizers/bpe_merges.h"
#include "tokenizers/token_model.h"
#include "tokenizers/tokenizer_json.h"

namespace hone {

struct BpeParts {
  std::shared_ptr<const Vocabulary> vocabulary;
  BpeMerges merges;
  std::string prefix, suffix;  // of a symbol that does not begin a piece; of the one that ends it
  int64_t unknown = Vocabulary::kAbsent;
  bool fuse_unknown = false;   // several unknown symbols in a row are one token
  bool byte_fallback = false;  // an unknown character is the tokens <0x00> ... <0xFF> of its bytes
  bool ignore_merges = false;  // a piece that is a token is taken whole
};

// Throws Error for keys of the model that are not known, and for merges that name no token.
BpeParts read_bpe(const TokenizerJson& json, const std::string& source);

// By "model" of a tokenizer.json: whether it merges pairs, and whether its tokens are made of bytes.
bool is_bpe(const Json& root);
bool is_byte_level(const Json& root);

}  // namespace hone
