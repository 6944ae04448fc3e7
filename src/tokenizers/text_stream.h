// Ids to text, token by token: the "decoder" of a tokenizer.json.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tokenizers/added_token.h"
#include "tokenizers/vocabulary.h"

namespace hone {

// A step of a decoder: what becomes of the tokens of one text. Written to by one text alone, from its start.
class DecoderStep {
 public:
  virtual ~DecoderStep() = default;
  virtual std::unique_ptr<DecoderStep> fresh() const = 0;  // at the start of a text
  // Appends to `out` the texts that are known for sure after this token.
  virtual void add(std::string_view token, std::vector<std::string>& out) = 0;
  virtual void finish(std::vector<std::string>&) {}  // what was held back
};

// What the texts of one tokenizer have in common.
class TokenTexts {
 public:
  TokenTexts(const Vocabulary& vocabulary, const std::vector<AddedToken>& added, const Json& decoder,
             const std::string& source);

  std::string_view token(int64_t id) const;  // throws Error for an id that is none
  bool is_special(int64_t id) const { return special_[static_cast<size_t>(id)]; }
  std::vector<std::unique_ptr<DecoderStep>> steps() const;

 private:
  std::vector<std::string> tokens_;
  std::vector<bool> known_, special_;
  std::vector<std::unique_ptr<DecoderStep>> steps_;
};

class TextStream {
 public:
  TextStream(std::shared_ptr<const TokenTexts> texts, bool skip_special);

  // What the text grows by: whole characters. A character whose bytes come in several tokens is held back until its
  // last one; bytes that are no UTF-8 become U+FFFD, each maximal part of them one.
  std::string add(int64_t id);
  // What is held back at the end.
  std::string finish();

 private:
  std::string through(size_t step, std::vector<std::string> texts);
  std::shared_ptr<const TokenTexts> texts_;
  bool skip_special_;
  std::vector<std::unique_ptr<DecoderStep>> steps_;
};

}  // namespace hone
