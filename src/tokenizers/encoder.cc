#include "tokenizers/encoder.h"

#include "base/stop.h"
#include "base/utf8.h"
#include "tokenizers/text_steps.h"
#include "tokenizers/unicode.h"

namespace hone {
namespace {

// What a token covers, and the blanks at its ends. In a token of bytes those are the byte's; in any other, all white
// space, and the letter that stands for that byte.
TextTokens::Place place_of(const Piece& part, bool byte_level) {
  TextTokens::Place place{{part.origins[0].begin, part.origins[part.text.size() - 1].end}};
  const auto is_blank = [&](char32_t c) { return c == ' ' || (!byte_level && (is_whitespace(c) || c == 0x120)); };
  bool leads = true;
  for (size_t at = 0; at < part.text.size();) {
    // Of several tokens a character is made of, a part may begin or end within it: no blank does.
    if ((static_cast<unsigned char>(part.text[at]) & 0xc0) == 0x80 ||
        at + utf8_length(part.text[at]) > part.text.size()) {
      ++at;
      leads = false, place.trailing = 0;
      continue;
    }
    const bool blank = is_blank(next_code_point(part.text, at));
    leads = leads && blank;
    place.leading += leads;
    place.trailing = blank ? place.trailing + 1 : 0;
  }
  return place;
}

// The part that is `text`, which points into the whole.
Piece part_of(const Piece& whole, std::string_view text) {
  const auto at = static_cast<size_t>(text.data() - whole.text.data());
  return whole.part(at, at + text.size());
}

void add_token(const AddedToken& token, const Piece& piece, TextTokens& out) {
  out.ids.push_back(token.id);
  if (piece.origins) out.places.push_back(place_of(piece, false));
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
  for (const AddedTokenFinder::Piece& cut : raw_tokens_.cut(raw.text)) {
    const Piece piece = part_of(whole, cut.text);
    if (cut.token) add_token(*cut.token, piece, out);
    else add_segment(piece, out);
  }
  if (!followed) out.places.clear();
}

void Encoder::add_segment(const Piece& raw, TextTokens& out) const {
  if (!normalizer_) return add_text(raw, out);
  AlignedText text{.text = std::string(raw.text), .origins = {}, .followed = raw.origins != nullptr};
  text.most = kLongestContent * (raw.text.size() + 1);
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
  for (const AddedTokenFinder::Piece& cut : normalised_tokens_.cut(piece.text)) {
    const Piece part = part_of(piece, cut.text);
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
  for (const PieceToken& t : tokens) out.places.push_back(place_of(piece.part(t.begin, t.end), splitter_.byte_level));
}

}  // namespace hone
