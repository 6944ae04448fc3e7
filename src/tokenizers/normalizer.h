// What is done to a text before it is split: the "normalizer" of a tokenizer.json.
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "tokenizers/aligned_text.h"

namespace hone {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(AlignedText& text) const = 0;
};

// nullptr for null: texts stay as they are. Throws Error that names `source` and quotes a type, a pattern or a key that
// is not known.
std::shared_ptr<const Normalizer> read_normalizer(const Json& json, const std::string& source);

}  // namespace hone
