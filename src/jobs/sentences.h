// Texts in, embeddings out: a sentence encoder's session with its tokenizer.
#pragma once

#include <string>
#include <vector>

#include "jobs/text_inputs.h"

namespace hone {

class SentenceEncoder {
 public:
  // Throws Error when the model has no tokenizer, or its graph does not take input_ids and attention_mask or has no
  // output [B, C].
  SentenceEncoder(Model model, const SessionOptions& options);

  // f32[texts, C]. Texts of similar length share a batch of at most `batch`; lengths are padded to multiples of 16
  // tokens, so that few shapes occur. The result of a text does not depend on the others but for rounding. An empty
  // text is embedded as its [CLS] [SEP] tokens.
  Tensor embed(const std::vector<std::string>& texts, int64_t batch = 32);

  Session& session() { return session_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  int64_t max_tokens() const { return max_tokens_; }

 private:
  Tokenizer tokenizer_;
  int64_t max_tokens_;
  std::string prompt_;
  Session session_;
  bool takes_types_ = false;
};

}  // namespace hone
