// What turns a piece of text into tokens: the "model" of a tokenizer.json.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hone {

// A token and the bytes of the piece that it covers.
struct PieceToken {
  int32_t id = 0;
  uint32_t begin = 0, end = 0;
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Appends the tokens of a piece, which is valid UTF-8 and not empty. Any number of threads may call it.
  virtual void tokenize(std::string_view piece, std::vector<PieceToken>& out) const = 0;
};

}  // namespace hone
