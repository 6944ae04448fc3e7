#include "tokenizers/added_tokens.h"

#include "base/stop.h"
#include "tokenizers/unicode.h"

namespace hone {
namespace {

// Start of the white space that ends text[0, end), at `from` or later.
size_t space_before(std::string_view text, size_t end, size_t from) {
  while (end > from) {
    size_t start = end - 1;
    while (start > from && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) --start;
    if (!is_whitespace(decode_utf8(text.substr(start, end - start)).front())) break;
    end = start;
  }
  return end;
}

// End of the white space that starts at `begin`.
size_t space_after(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    size_t end = begin + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
    if (!is_whitespace(decode_utf8(text.substr(begin, end - begin)).front())) break;
    begin = end;
  }
  return begin;
}

// No word goes on before `begin` or behind `end`.
bool stands_alone(std::string_view text, size_t begin, size_t end) {
  size_t before = begin;
  while (before > 0 && (static_cast<unsigned char>(text[--before]) & 0xc0) == 0x80) {
  }
  if (begin > 0 && is_word_character(next_code_point(text, before))) return false;
  return end == text.size() || !is_word_character(next_code_point(text, end));
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (size_t i = tokens_.size(); i-- > 0;) {
    trie_.add(tokens_[i].text, static_cast<int32_t>(i));
    starts_[static_cast<unsigned char>(tokens_[i].text.front())] = true;
  }
}

const AddedToken* AddedTokenFinder::token_at(std::string_view rest) const {
  const AddedToken* longest = nullptr;
  trie_.for_each_prefix(rest, [&](size_t, int32_t place) { longest = &tokens_[static_cast<size_t>(place)]; });
  return longest;
}

std::vector<AddedTokenFinder::Piece> AddedTokenFinder::cut(std::string_view text) const {
  std::vector<Piece> pieces;
  size_t done = 0;  // the end of the last piece
  for (size_t at = 0; at < text.size();) {
    if (!starts_[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    check_stop();
    const AddedToken* token = token_at(text.substr(at));
    if (!token) {
      ++at;
      continue;
    }
    if (token->single_word && !stands_alone(text, at, at + token->text.size())) {
      at += token->text.size();
      continue;
    }
    const size_t begin = token->lstrip ? space_before(text, at, done) : at;
    at += token->text.size();
    const size_t end = token->rstrip ? space_after(text, at) : at;
    if (begin > done) pieces.push_back({text.substr(done, begin - done)});
    pieces.push_back({text.substr(begin, end - begin), token});
    done = end;
  }
  if (done < text.size()) pieces.push_back({text.substr(done)});
  return pieces;
}

}  // namespace hone
