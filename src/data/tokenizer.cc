#include "data/tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/stop.h"
#include "base/threads.h"
#include "data/bert_normalizer.h"
#include "data/unicode.h"

namespace hone {
namespace {

std::string to_utf8(std::u32string_view text) {
  std::string out;
  for (char32_t c : text) append_utf8(out, c);
  return out;
}

// The tokens to look for in raw text, or in normalised text.
AddedTokenFinder finder(const TokenizerSpec& spec, bool normalized) {
  std::vector<AddedToken> tokens;
  for (AddedToken token : spec.added) {
    if (token.normalized != normalized) continue;
    if (normalized) token.text = to_utf8(normalise(spec.normalizer, decode_utf8(token.text)));
    if (!token.text.empty()) tokens.push_back(std::move(token));
  }
  return AddedTokenFinder(std::move(tokens));
}

}  // namespace

Tokenizer::Tokenizer(TokenizerSpec spec)
    : spec_(std::move(spec)), raw_tokens_(finder(spec_, false)), normalised_tokens_(finder(spec_, true)) {}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& source) {
  return Tokenizer(parse_tokenizer_json(text, source));
}

Tokenizer Tokenizer::from_vocab(std::string_view text, bool lowercase, const std::string& source) {
  return Tokenizer(parse_vocab_txt(text, lowercase, source));
}

// Longest match first, from the left; a word with any part that matches nothing is unknown as a whole.
void Tokenizer::add_word(std::u32string_view word, std::string& scratch, std::vector<int64_t>& ids) const {
  check_stop();
  if (static_cast<int64_t>(word.size()) > spec_.max_characters_per_word) {
    ids.push_back(spec_.unknown_id);
    return;
  }
  scratch.clear();
  for (char32_t c : word) append_utf8(scratch, c);
  const size_t before = ids.size();
  for (std::string_view rest = scratch; !rest.empty();) {
    const Vocabulary::Match match =
        spec_.vocabulary.longest(rest.size() == scratch.size() ? "" : spec_.continuing_prefix, rest);
    if (match.bytes == 0) {
      ids.resize(before);
      ids.push_back(spec_.unknown_id);
      return;
    }
    ids.push_back(match.id);
    rest.remove_prefix(match.bytes);
  }
}

// Words end at white space, which is dropped; each punctuation character is a word.
void Tokenizer::add_words(std::u32string_view normalised, std::vector<int64_t>& ids) const {
  std::string scratch;
  size_t start = 0;
  const auto end_word = [&](size_t end) {
    if (end > start) add_word(normalised.substr(start, end - start), scratch, ids);
  };
  for (size_t i = 0; i < normalised.size(); ++i) {
    const bool space = is_whitespace(normalised[i]);
    if (!space && !is_punctuation(normalised[i])) continue;
    end_word(i);
    if (!space) add_word(normalised.substr(i, 1), scratch, ids);
    start = i + 1;
  }
  end_word(normalised.size());
}

void Tokenizer::add_segment(std::string_view raw, std::vector<int64_t>& ids) const {
  const std::u32string normalised = normalise(spec_.normalizer, decode_utf8(raw));
  if (normalised_tokens_.empty()) return add_words(normalised, ids);
  const std::string text = to_utf8(normalised);
  for (const AddedTokenFinder::Piece& piece : normalised_tokens_.cut(text)) {
    if (piece.token) ids.push_back(piece.token->id);
    else add_words(decode_utf8(piece.text), ids);
  }
}

void Tokenizer::truncate(std::vector<int64_t>& ids, int64_t max_length) const {
  const int64_t around = static_cast<int64_t>(spec_.before.size() + spec_.after.size());
  if (max_length < around) fail("max_length {} leaves no room for the {} tokens around a text", max_length, around);
  const size_t room = static_cast<size_t>(max_length - around);
  if (ids.size() <= room) return;
  if (spec_.truncate_left) ids.erase(ids.begin(), ids.end() - static_cast<int64_t>(room));
  ids.resize(room);
}

std::vector<int64_t> Tokenizer::encode(std::string_view text, int64_t max_length) const {
  std::string repaired;
  if (!is_valid_utf8(text)) {
    repaired = to_utf8(decode_utf8(text));
    text = repaired;
  }
  std::vector<int64_t> ids;
  for (const AddedTokenFinder::Piece& piece : raw_tokens_.cut(text)) {
    if (piece.token) ids.push_back(piece.token->id);
    else add_segment(piece.text, ids);
  }
  if (max_length != 0) truncate(ids, max_length);
  ids.insert(ids.begin(), spec_.before.begin(), spec_.before.end());
  ids.insert(ids.end(), spec_.after.begin(), spec_.after.end());
  return ids;
}

TokenBatch Tokenizer::encode_batch(std::span<const std::string> texts, int64_t max_length,
                                   int64_t pad_to_multiple) const {
  CHECK(pad_to_multiple >= 1);
  if (texts.empty()) fail("no texts to tokenise; give at least one");
  std::vector<std::vector<int64_t>> rows(texts.size());
  const int64_t count = static_cast<int64_t>(texts.size());
  parallel_for(
      count, [&](int64_t i) { rows[static_cast<size_t>(i)] = encode(texts[static_cast<size_t>(i)], max_length); }, 16);
  size_t longest = 0;
  for (const auto& row : rows) longest = std::max(longest, row.size());
  const int64_t width = (static_cast<int64_t>(longest) + pad_to_multiple - 1) / pad_to_multiple * pad_to_multiple;
  TokenBatch batch{Tensor(DType::i64, {count, width}), Tensor(DType::i64, {count, width})};
  const auto ids = batch.ids.mutable_as<int64_t>(), mask = batch.attention_mask.mutable_as<int64_t>();
  for (size_t r = 0; r < rows.size(); ++r) {
    const size_t padding = static_cast<size_t>(width) - rows[r].size(), start = r * static_cast<size_t>(width);
    if (padding > 0 && !spec_.pad_id)
      fail("the tokenizer has no padding token, so texts of different length can't share a batch");
    const size_t at = start + (spec_.pad_left ? padding : 0);
    std::fill_n(ids.begin() + static_cast<int64_t>(start), width, spec_.pad_id.value_or(0));
    std::copy(rows[r].begin(), rows[r].end(), ids.begin() + static_cast<int64_t>(at));
    std::fill_n(mask.begin() + static_cast<int64_t>(at), rows[r].size(), 1);
  }
  return batch;
}

}  // namespace hone
