// A tokenizer.json as it is read: by events, so that tens of thousands of tokens and merges go straight into tables.
// What older files say is put into the same form.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "tokenizers/vocabulary.h"

namespace hone {

// Pairs of texts, in order.
class MergeList {
 public:
  void add(std::string_view left, std::string_view right);
  size_t size() const { return ends_.size() / 2; }
  std::pair<std::string_view, std::string_view> operator[](size_t i) const { return {part(2 * i), part(2 * i + 1)}; }

 private:
  std::string_view part(size_t i) const;
  std::string texts_;
  std::vector<uint32_t> ends_;
};

struct TokenizerJson {
  Json root;  // without the entries of model.vocab and model.merges
  std::shared_ptr<Vocabulary> vocabulary = std::make_shared<Vocabulary>();  // of model.vocab
  std::vector<double> scores;  // of a list of tokens with scores, in the order of ids
  MergeList merges;            // of model.merges
};

// Throws Error for malformed JSON, duplicate keys and tokens, ids that are no integers from 0, and merges that are no
// pairs.
TokenizerJson read_tokenizer_json(std::string_view text, const std::string& source);

// The same as text, which read_tokenizer_json reads.
std::string write_tokenizer_json(const TokenizerJson& json);

}  // namespace hone
