#include "tokenizers/encoder.h"

#include "base/stop.h"
#include "base/utf8.h"
#include "tokenizers/unicode.h"

namespace hone {
namespace {

void add_token(const AddedToken& token, const Piece& piece, TextTokens& out) {
  out.ids.push_back(token.id);
  if (!piece.origins) return;
  TextTokens::Place place{{piece.origins[0].begin, piece.origins[piece.text.size() - 1].end}};
  const std::u32string text = decode_utf8(piece.text);
  while (place.leading < text.size() && is_whitespace(text[place.leading])) ++place.leading;
  while (place.trailing < text.size() && is_whitespace(text[text.size() - 1 - place.trailing])) ++place.trailing;
  out.places.push_back(place);
}

}  // namespace

Encoder::Encoder(std::shared_ptr<const Normalizer> normalizer, PreTokenizers splitter,
                 std::shared_ptr<const TokenModel> model, const std::vector<AddedToken>& added)
    : normalizer_(std::move(normalizer)),
      splitter_(std::move(splitter)),
      model_(std::move(model)),
      raw_tokens_(finder(added, false)),
      normalised_tokens_(finder(added, true)) {}

// The tokens to look for in raw text, or in normalised text.
AddedTokenFinder Encoder::finder(const std::vector<AddedToken>& added, bool normalized) const {
  std::vector<AddedToken> tokens;
  for (const AddedToken& token : added) {
    if (token.normalized != normalized) continue;
    tokens.push_back(as_found(token));
    if (tokens.back().text.empty()) tokens.pop_back();
  }
  return AddedTokenFinder(std::move(tokens));
}

AddedToken Encoder::as_found(AddedToken token) const {
  if (!token.normalized || !normalizer_) return token;
  AlignedText text = AlignedText::of(token.text, false);
  normalizer_->apply(text);
  token.text = std::move(text.text);
  return token;
}

void Encoder::encode(std::string_view text, bool followed, TextTokens& out) const {
  const bool is_needed = normalizer_ && splitter_.split && splitter_.split->needs_origins();
  const AlignedText raw = AlignedText::of(text, followed || is_needed);
  const Piece whole{raw.text, raw.followed ? raw.origins.data() : nullptr, true};
  size_t at = 0;
  for (const AddedTokenFinder::Piece& cut : raw_tokens_.cut(raw.text)) {
    const Piece piece = whole.part(at, at + cut.text.size());
    at += cut.text.size();
    if (cut.token) add_token(*cut.token, piece, out);
    else add_segment(piece, out);
  }
  if (!followed) out.places.clear();
}

void Encoder::add_segment(const Piece& raw, TextTokens& out) const {
  if (!normalizer_) return add_text(raw, out);
  AlignedText text{.text = std::string(raw.text), .origins = {}, .followed = raw.origins != nullptr};
  if (text.followed) {
    text.origins.assign(raw.origins, raw.origins + raw.text.size());
    text.begin = raw.origins[0].begin;
  }
  normalizer_->apply(text);
  add_text({text.text, text.followed ? text.origins.data() : nullptr, raw.is_first}, out);
}

void Encoder::add_text(const Piece& piece, TextTokens& out) const {
  const TakePiece take = [&](const Piece& part) { add_piece(part, out); };
  const auto split = [&](const Piece& part) {
    if (part.text.empty()) return;
    if (splitter_.split) splitter_.split->split(part, take);
    else take(part);
  };
  if (normalised_tokens_.empty()) return split(piece);
  size_t at = 0;
  for (const AddedTokenFinder::Piece& cut : normalised_tokens_.cut(piece.text)) {
    const Piece part = piece.part(at, at + cut.text.size());
    at += cut.text.size();
    if (cut.token) add_token(*cut.token, part, out);
    else split(part);
  }
}

void Encoder::add_piece(const Piece& piece, TextTokens& out) const {
  check_stop();
  thread_local std::vector<PieceToken> tokens;
  tokens.clear();
  memo_.tokenize(*model_, piece.text, tokens);
  for (const PieceToken& t : tokens) out.ids.push_back(t.id);
  if (!piece.origins) return;
  for (const PieceToken& t : tokens) {
    TextTokens::Place place{{piece.origins[t.begin].begin, piece.origins[t.end - 1].end}};
    if (splitter_.byte_level) {
      while (t.begin + place.leading < t.end && piece.text[t.begin + place.leading] == ' ') ++place.leading;
      while (t.begin + place.trailing < t.end && piece.text[t.end - 1 - place.trailing] == ' ') ++place.trailing;
    }
    out.places.push_back(place);
  }
}

}  // namespace hone
