// How a normalised text is split before a model sees it: the "pre_tokenizer" of a tokenizer.json.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/json.h"
#include "tokenizers/aligned_text.h"

namespace hone {

using TakePiece = std::function<void(const Piece&)>;

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Calls `take` for each part, from left to right; none of them is empty. They live until the call returns.
  virtual void split(const Piece& piece, const TakePiece& take) const = 0;
  // What it does depends on where a piece begins in the original: where a normalizer may have left out the begin of a
  // text, origins have to be followed.
  virtual bool needs_origins() const { return false; }
};

struct PreTokenizers {
  std::shared_ptr<const PreTokenizer> split;  // nullptr: a text is one piece
  bool byte_level = false;                    // the model's tokens are made of bytes (ByteLevel)
};

// Throws Error that names `source` and quotes a type, a pattern or a key that is not known.
PreTokenizers read_pre_tokenizer(const Json& json, const std::string& source);

}  // namespace hone
