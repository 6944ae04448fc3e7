#include "data/tokenizer.h"

#include <algorithm>
#include <limits>

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

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& source, const TokenizerSettings& settings) {
  TokenizerSpec spec = parse_tokenizer_json(text, source);
  apply_settings(spec, settings, source);
  return Tokenizer(std::move(spec));
}

Tokenizer Tokenizer::from_vocab(std::string_view text, const TokenizerSettings& settings, const std::string& source) {
  return Tokenizer(parse_vocab_txt(text, settings, source));
}

Tokenizer Tokenizer::from_vocab(std::string_view text, bool lowercase, const std::string& source) {
  TokenizerSettings settings;
  settings.lowercase = lowercase;
  return from_vocab(text, settings, source);
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

int64_t Tokenizer::room(size_t own_tokens, int64_t max_length) const {
  if (max_length == 0) return std::numeric_limits<int64_t>::max();
  const auto own = static_cast<int64_t>(own_tokens);
  if (max_length < own) fail("max_length {} leaves no room for the {} tokens around a text", max_length, own);
  return max_length - own;
}

void Tokenizer::truncate(std::vector<int64_t>& values, size_t room) const {
  if (values.size() <= room) return;
  if (spec_.truncate_left) values.erase(values.begin(), values.end() - static_cast<int64_t>(room));
  values.resize(room);
}

std::vector<int64_t> Tokenizer::text_ids(std::string_view text) const {
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
  return ids;
}

Tokens Tokenizer::surrounded(std::vector<int64_t> ids, std::vector<int64_t> words, int64_t max_length) const {
  const auto most = static_cast<size_t>(room(spec_.before.size() + spec_.after.size(), max_length));
  const auto surround = [&](std::vector<int64_t>& values, std::span<const int64_t> before,
                            std::span<const int64_t> after) {
    truncate(values, most);
    values.insert(values.begin(), before.begin(), before.end());
    values.insert(values.end(), after.begin(), after.end());
  };
  Tokens tokens{.ids = std::move(ids), .types = {}, .words = std::move(words)};
  tokens.left_out = std::ssize(tokens.ids) - static_cast<int64_t>(std::min(tokens.ids.size(), most));
  surround(tokens.ids, spec_.before, spec_.after);
  surround(tokens.words, std::vector<int64_t>(spec_.before.size(), -1), std::vector<int64_t>(spec_.after.size(), -1));
  tokens.types.resize(tokens.ids.size());
  return tokens;
}

std::vector<int64_t> Tokenizer::encode(std::string_view text, int64_t max_length) const {
  return encode_text(text, max_length).ids;
}

Tokens Tokenizer::encode_text(std::string_view text, int64_t max_length) const {
  std::vector<int64_t> ids = text_ids(text), words(ids.size());
  return surrounded(std::move(ids), std::move(words), max_length);
}

Tokens Tokenizer::encode_words(std::span<const std::string> words, int64_t max_length) const {
  std::vector<int64_t> ids, of;
  for (size_t w = 0; w < words.size(); ++w) {
    const std::vector<int64_t> pieces = text_ids(words[w]);
    ids.insert(ids.end(), pieces.begin(), pieces.end());
    of.insert(of.end(), pieces.size(), static_cast<int64_t>(w));
  }
  return surrounded(std::move(ids), std::move(of), max_length);
}

Tokens Tokenizer::encode_pair(std::string_view first, std::string_view second, int64_t max_length) const {
  if (spec_.pair.empty()) fail("the tokenizer states no template for a pair of texts, so it takes one text a row");
  std::vector<int64_t> a = text_ids(first), b = text_ids(second);
  const auto both = std::ssize(a) + std::ssize(b), most = room(spec_.pair.size() - 2, max_length);
  if (both > most) {  // what the shorter leaves free goes to the longer; else each gets half, the longer the odd one
    const bool is_first_longer = a.size() > b.size();
    const int64_t shorter = std::min(std::min(std::ssize(a), std::ssize(b)), most / 2);
    truncate(a, static_cast<size_t>(is_first_longer ? most - shorter : shorter));
    truncate(b, static_cast<size_t>(is_first_longer ? shorter : most - shorter));
  }
  Tokens tokens{.ids = {}, .types = {}, .words = {}, .left_out = std::max<int64_t>(0, both - most)};
  for (const PairPart& part : spec_.pair) {
    const bool is_text = part.token < 0;
    const std::vector<int64_t> own{part.token};
    const std::vector<int64_t>& ids = !is_text ? own : part.token == PairPart::kFirst ? a : b;
    tokens.ids.insert(tokens.ids.end(), ids.begin(), ids.end());
    tokens.types.insert(tokens.types.end(), ids.size(), part.type);
    tokens.words.insert(tokens.words.end(), ids.size(), is_text ? 0 : -1);
  }
  return tokens;
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
