#include "tokenizers/sentencepiece_model.h"

#include <bit>

#include "base/error.h"
#include "base/stop.h"
#include "base/utf8.h"
#include "tokenizers/wire.h"

namespace hone {
namespace {

// Numbers of fields.
enum : uint64_t { kPieces = 1, kTrainer = 2, kNormalizer = 3 };
enum : uint64_t { kPieceText = 1, kPieceScore = 2, kPieceType = 3 };
enum : uint64_t { kModelType = 3, kUnknownId = 40 };
enum : uint64_t { kCharsmap = 2, kEscapeBlanks = 5 };

SentencePieceModel::Piece read_piece(std::string_view bytes, const std::string& source) {
  SentencePieceModel::Piece piece;
  WireReader reader(bytes, source);
  for (WireField field; reader.next(field);) {
    if (field.number == kPieceText) piece.text = field.bytes;
    if (field.number == kPieceScore) piece.score = std::bit_cast<float>(static_cast<uint32_t>(field.value));
    if (field.number == kPieceType) piece.type = static_cast<SentencePieceModel::Type>(field.value);
  }
  // Merges are found by cutting a piece in all places, in a time that is quadratic in its length.
  constexpr size_t kLongestPiece = 1024;
  if (piece.text.size() > kLongestPiece)
    fail("{}: a piece has {} bytes; at most {} are accepted", source, piece.text.size(), kLongestPiece);
  if (!is_valid_utf8(piece.text)) fail("{}: a piece is not UTF-8", source);
  return piece;
}

void read_trainer(std::string_view bytes, SentencePieceModel& model, const std::string& source) {
  WireReader reader(bytes, source);
  for (WireField field; reader.next(field);) {
    if (field.number == kModelType) model.model_type = static_cast<int64_t>(field.value);
    if (field.number == kUnknownId) model.unknown_id = static_cast<int64_t>(field.value);
  }
}

// The converted tokenizers of each class put in their own rules for blanks, which are those of the defaults.
void read_normalizer(std::string_view bytes, SentencePieceModel& model, const std::string& source) {
  WireReader reader(bytes, source);
  for (WireField field; reader.next(field);) {
    if (field.number == kCharsmap) model.charsmap = field.bytes;
    if (field.number == kEscapeBlanks && field.value == 0)
      fail("{}: normalizer_spec: escape_whitespaces is false, which is not supported; accepted: true", source);
  }
}

}  // namespace

SentencePieceModel read_sentencepiece(std::string_view bytes, const std::string& source) {
  SentencePieceModel model;
  WireReader reader(bytes, source);
  for (WireField field; reader.next(field);) {
    check_stop();
    if (field.number == kPieces) model.pieces.push_back(read_piece(field.bytes, source));
    if (field.number == kTrainer) read_trainer(field.bytes, model, source);
    if (field.number == kNormalizer) read_normalizer(field.bytes, model, source);
  }
  if (model.pieces.empty()) fail("{}: has no pieces; expected a model of SentencePiece", source);
  if (model.unknown_id < 0 || model.unknown_id >= std::ssize(model.pieces))
    fail("{}: unk_id is {}, and there are {} pieces", source, model.unknown_id, model.pieces.size());
  return model;
}

}  // namespace hone
