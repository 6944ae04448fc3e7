// Texts to tokens, and tokens to text, equal to Hugging Face's tokenizers library: added tokens are cut out of the raw
// text, the rest is normalised and split, a model makes tokens of each piece, and the model's own tokens are put
// around.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/tensor.h"
#include "tokenizers/tokenizer_settings.h"
#include "tokenizers/tokenizer_spec.h"

namespace hone {

class TextStream;

struct TokenBatch {
  Tensor ids;             // i64[texts, longest]
  Tensor attention_mask;  // i64[texts, longest]: 1 for tokens, 0 for padding
};

// Bytes [begin, end) of a text.
struct TextRange {
  int64_t begin = 0, end = 0;
  bool operator==(const TextRange&) const = default;
};

// One row as a model reads it. All but `ranges` are of one length, and so is that where it was asked for.
struct Tokens {
  std::vector<int64_t> ids;
  std::vector<int64_t> types;     // of the text that a token belongs to
  std::vector<int64_t> words;     // which word a token is of, for words; -1 for the model's own tokens
  std::vector<TextRange> ranges;  // what a token covers of its text (of its word); empty for the model's own tokens
  int64_t left_out = 0;           // tokens of the texts that max_length left no room for
};

struct EncodeOptions {
  int64_t max_length = 0;  // at most so many tokens are kept; 0: all
  bool own_tokens = true;  // put the model's own around
  bool ranges = false;
};

class Tokenizer {
 public:
  // Contents of a folder's files by name: tokenizer.json, or what older folders have instead (docs/tokenizers.md), with
  // those that say how they are used. `source` begins every error.
  static Tokenizer from_files(const std::map<std::string, std::string>& files, const std::string& source);
  static Tokenizer from_files(const std::map<std::string, std::string>& files, const TokenizerSettings& settings,
                              const std::string& source);
  // Contents of tokenizer.json, or of vocab.txt, alone.
  static Tokenizer from_json(std::string_view text, const std::string& source, const TokenizerSettings& settings = {});
  static Tokenizer from_vocab(std::string_view text, const TokenizerSettings& settings, const std::string& source);
  static Tokenizer from_vocab(std::string_view text, bool lowercase, const std::string& source);

  // Ids with the model's own tokens around them ([CLS] ... [SEP]). At most max_length of them are kept, cut as the
  // reference cuts: the text's tokens, never those around; 0 means no limit. Each maximal part of the bytes that is no
  // UTF-8 is read as U+FFFD. Throws Error when max_length leaves no room for the tokens around the text.
  std::vector<int64_t> encode(std::string_view text, int64_t max_length) const;

  // As encode, with more to say of the row. Of a pair, tokens are taken from the end of the longer text first, as
  // Hugging Face's "longest_first" does. Words are tokenised each by itself. Throws Error for a pair when the tokenizer
  // says nothing of pairs.
  Tokens encode_text(std::string_view text, const EncodeOptions& options) const;
  Tokens encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options) const;
  Tokens encode_words(std::span<const std::string> words, const EncodeOptions& options) const;
  Tokens encode_text(std::string_view text, int64_t max_length) const;
  Tokens encode_pair(std::string_view first, std::string_view second, int64_t max_length) const;
  Tokens encode_words(std::span<const std::string> words, int64_t max_length) const;

  // Pads to the longest text, rounded up to a multiple (at least 1). Throws Error when there are no texts, or no
  // padding token.
  TokenBatch encode_batch(std::span<const std::string> texts, int64_t max_length, int64_t pad_to_multiple = 1) const;

  // The text of ids. `skip_special` leaves the model's own tokens out. Bytes that are no UTF-8 become U+FFFD. Throws
  // Error for an id that is no token.
  std::string decode(std::span<const int64_t> ids, bool skip_special) const;
  // The same, token by token (tokenizers/text_stream.h).
  TextStream stream(bool skip_special) const;

  const TokenizerSpec& spec() const;

 private:
  struct Parts;
  explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace hone
