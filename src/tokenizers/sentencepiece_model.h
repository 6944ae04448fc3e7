// A model of SentencePiece as its file says it (sentencepiece_model.proto).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

struct SentencePieceModel {
  enum class Type { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::normal;
  };
  std::vector<Piece> pieces;
  int64_t model_type = 1;  // 1: unigram, 2: byte-pair encoding
  int64_t unknown_id = 0;
  std::string charsmap;
};

// Throws Error that names `source` for bytes that are no such model.
SentencePieceModel read_sentencepiece(std::string_view bytes, const std::string& source);

}  // namespace hone
