// WordPiece tokenisation equal to Hugging Face's BertTokenizerFast: added tokens are cut out of the raw text, the rest
// is normalised, split at white space and punctuation, and each word is covered greedily by the longest vocabulary
// entries.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/added_tokens.h"
#include "data/tokenizer_settings.h"
#include "ir/tensor.h"

namespace hone {

struct TokenBatch {
  Tensor ids;             // i64[texts, longest]
  Tensor attention_mask;  // i64[texts, longest]: 1 for tokens, 0 for padding
};

// One row as a model reads it. All three are of one length.
struct Tokens {
  std::vector<int64_t> ids;
  std::vector<int64_t> types;  // of the text that a token belongs to
  std::vector<int64_t> words;  // which word a token is of, for words; -1 for the model's own tokens
  int64_t left_out = 0;        // tokens of the texts that max_length left no room for
};

class Tokenizer {
 public:
  explicit Tokenizer(TokenizerSpec spec);
  // Contents of tokenizer.json, or of vocab.txt; `settings` are what stands beside them.
  static Tokenizer from_json(std::string_view text, const std::string& source, const TokenizerSettings& settings = {});
  static Tokenizer from_vocab(std::string_view text, const TokenizerSettings& settings, const std::string& source);
  static Tokenizer from_vocab(std::string_view text, bool lowercase, const std::string& source);

  // Ids with the model's own tokens around them ([CLS] ... [SEP]). At most max_length of them are kept, cut as the
  // reference cuts: the text's tokens, never those around; 0 means no limit. Invalid UTF-8 is read as U+FFFD. Throws
  // Error when max_length leaves no room for the tokens around the text.
  std::vector<int64_t> encode(std::string_view text, int64_t max_length) const;

  // As encode, with more to say of the row. Of a pair, tokens are taken from the end of the longer text first, as
  // Hugging Face's "longest_first" does. Words are tokenised each by itself. Throws Error for a pair when the tokenizer
  // says nothing of pairs.
  Tokens encode_text(std::string_view text, int64_t max_length) const;
  Tokens encode_pair(std::string_view first, std::string_view second, int64_t max_length) const;
  Tokens encode_words(std::span<const std::string> words, int64_t max_length) const;

  // Pads to the longest text, rounded up to a multiple (at least 1). Throws Error when there are no texts, or no
  // padding token.
  TokenBatch encode_batch(std::span<const std::string> texts, int64_t max_length, int64_t pad_to_multiple = 1) const;

  const TokenizerSpec& spec() const { return spec_; }

 private:
  void add_segment(std::string_view raw, std::vector<int64_t>& ids) const;
  void add_words(std::u32string_view normalised, std::vector<int64_t>& ids) const;
  void add_word(std::u32string_view word, std::string& scratch, std::vector<int64_t>& ids) const;
  std::vector<int64_t> text_ids(std::string_view text) const;  // without the model's own tokens
  int64_t room(size_t own_tokens, int64_t max_length) const;
  void truncate(std::vector<int64_t>& values, size_t room) const;
  Tokens surrounded(std::vector<int64_t> ids, std::vector<int64_t> words, int64_t max_length) const;

  TokenizerSpec spec_;
  AddedTokenFinder raw_tokens_, normalised_tokens_;
};

}  // namespace hone
