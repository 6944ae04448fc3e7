#include "tokenizers/tokenizer.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include "base/error.h"
#include "base/threads.h"
#include "base/utf8.h"
#include "tokenizers/encoder.h"
#include "tokenizers/json_parts.h"
#include "tokenizers/text_steps.h"
#include "tokenizers/text_stream.h"
#include "tokenizers/tokenizer_def.h"

namespace hone {
namespace {

TextRange character_range(std::string_view text, TextRange range, uint32_t leading, uint32_t trailing) {
  const auto is_inside = [&](int64_t at) {
    return (static_cast<unsigned char>(text[static_cast<size_t>(at)]) & 0xc0) == 0x80;
  };
  for (; leading > 0 && range.begin < range.end; --leading)
    for (++range.begin; range.begin < range.end && is_inside(range.begin);) ++range.begin;
  for (; trailing > 0 && range.end > range.begin; --trailing)
    for (--range.end; range.end > range.begin && is_inside(range.end);) --range.end;
  return range;
}

// What tokens cover of their text, as the post-processor sees it.
std::vector<TextRange> ranges_of(const TextTokens& tokens, std::string_view text, const PostProcessor& around) {
  std::vector<TextRange> ranges;
  for (size_t i = 0; i < tokens.places.size(); ++i) {
    const TextTokens::Place& place = tokens.places[i];
    TextRange range{place.origin.begin, place.origin.end};
    // One blank in front of all is the one that the tokenizer has added; of several none is.
    const bool is_prefix = around.keeps_prefix && place.leading == 1 && (i == 0 || range.begin == 0);
    if (around.trims_offsets) range = character_range(text, range, is_prefix ? 0 : place.leading, place.trailing);
    ranges.push_back(range);
  }
  return ranges;
}

template <class T>
void truncate(std::vector<T>& values, size_t room, bool left) {
  if (values.size() <= room) return;
  if (left) values.erase(values.begin(), values.end() - static_cast<int64_t>(room));
  values.resize(room);
}

// How many tokens of texts there is room for.
size_t room(const std::vector<PairPart>& parts, size_t texts, int64_t max_length) {
  if (max_length == 0) return std::numeric_limits<size_t>::max();
  const auto own = static_cast<int64_t>(parts.size() - texts);
  if (max_length < own) fail("max_length {} leaves no room for the {} tokens around a text", max_length, own);
  return static_cast<size_t>(max_length - own);
}

// A text's tokens and what they cover, on their way into a row.
struct Text {
  std::vector<int64_t> ids, words;
  std::vector<TextRange> ranges;
};

Tokens assemble(const std::vector<PairPart>& parts, std::span<const Text> texts, bool with_ranges) {
  Tokens row;
  for (const PairPart& part : parts) {
    const bool is_text = part.token < 0;
    const Text own{{part.token}, {-1}, {TextRange{}}};
    const Text& from = !is_text ? own : texts[part.token == PairPart::kFirst ? 0 : 1];
    row.ids.insert(row.ids.end(), from.ids.begin(), from.ids.end());
    row.types.insert(row.types.end(), from.ids.size(), part.type);
    row.words.insert(row.words.end(), from.words.begin(), from.words.end());
    if (with_ranges) row.ranges.insert(row.ranges.end(), from.ranges.begin(), from.ranges.end());
  }
  return row;
}

const std::vector<PairPart>& text_alone() {
  static const std::vector<PairPart> parts{{PairPart::kFirst, 0}};
  return parts;
}

bool is_left(const Json& part, const std::string& source) {
  const auto direction = get_or<std::string>(part, "direction", "Right", source);
  if (direction != "Left" && direction != "Right")
    fail("{}: direction \"{}\"; expected Left or Right", source, direction);
  return direction == "Left";
}

// Keys of the tokenizers library, each of which is followed, or of calls.
void check_root(const Json& root, const std::string& source) {
  check_keys(root,
             {{"version"},
              {"truncation"},
              {"padding"},
              {"added_tokens"},
              {"normalizer"},
              {"pre_tokenizer"},
              {"post_processor"},
              {"decoder"},
              {"model"}},
             source);
  check_keys(member(root, "padding"),
             {{"strategy"}, {"direction"}, {"pad_to_multiple_of"}, {"pad_id"}, {"pad_type_id"}, {"pad_token"}},
             source + ": padding");
  check_keys(member(root, "truncation"), {{"direction"}, {"max_length"}, {"stride"}, {"strategy"}},
             source + ": truncation");
}

std::vector<AddedToken> read_added_tokens(const TokenizerJson& json, const std::string& source) {
  std::vector<AddedToken> added;
  const Json& list = member(json.root, "added_tokens");
  if (list.is_null()) return added;
  if (!list.is_array()) fail("{}: added_tokens is {}; expected a list", source, list.type_name());
  for (const Json& item : list) {
    check_keys(item, {{"id"}, {"content"}, {"single_word"}, {"lstrip"}, {"rstrip"}, {"normalized"}, {"special"}},
               source + ": added_tokens");
    AddedToken token{.text = json_get<std::string>(item, "content", source),
                     .id = json_get<int64_t>(item, "id", source),
                     .lstrip = get_or(item, "lstrip", false, source),
                     .rstrip = get_or(item, "rstrip", false, source),
                     .normalized = get_or(item, "normalized", false, source),
                     .single_word = get_or(item, "single_word", false, source),
                     .special = get_or(item, "special", false, source)};
    if (token.text.empty()) fail("{}: added_tokens: the token with id {} is empty", source, token.id);
    if (token.text.size() > kLongestContent)
      fail("{}: added_tokens: the token with id {} has {} bytes; at most {} are accepted", source, token.id,
           token.text.size(), kLongestContent);
    const int64_t known = json.vocabulary->find(token.text);
    constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
    if (token.id < 0 || token.id > kLargest || (known != Vocabulary::kAbsent && known != token.id))
      fail("{}: added_tokens: \"{}\" has id {}, but {} in the vocabulary", source, token.text, token.id, known);
    added.push_back(std::move(token));
  }
  return added;
}

TokenizerSpec read_spec(const TokenizerJson& json, const std::string& source) {
  const Json& root = json.root;
  TokenizerSpec spec;
  spec.added = read_added_tokens(json, source);
  spec.around = read_post_processor(member(root, "post_processor"), source + ": post_processor");
  const Json &padding = member(root, "padding"), &truncation = member(root, "truncation");
  spec.pad_left = is_left(padding, source);
  spec.truncate_left = is_left(truncation, source);
  spec.stated_max_length = get_or<int64_t>(truncation, "max_length", 0, source);
  if (!member(padding, "pad_id").is_null()) spec.pad_id = json_get<int64_t>(padding, "pad_id", source);
  return spec;
}

// Tokens around texts, and for padding, are tokens.
void check_ids(const TokenizerJson& json, const TokenizerSpec& spec, const std::string& source) {
  int64_t largest = json.vocabulary->largest_id();
  for (const AddedToken& token : spec.added) largest = std::max(largest, token.id);
  const auto check = [&](int64_t id, const char* what) {
    if (id > largest) fail("{}: {}: the id {} is no token's; the largest is {}", source, what, id, largest);
  };
  for (const auto& parts : {spec.around.single, spec.around.pair})
    for (const PairPart& part : parts) check(part.token, "post_processor");
  if (spec.pad_id && *spec.pad_id < 0) fail("{}: padding: pad_id is {}", source, *spec.pad_id);
  check(spec.pad_id.value_or(0), "padding");
}

int64_t count_tokens(const TokenizerJson& json, const TokenizerSpec& spec) {
  const auto is_new = [&](const AddedToken& token) { return json.vocabulary->find(token.text) == Vocabulary::kAbsent; };
  return static_cast<int64_t>(json.vocabulary->size()) + std::ranges::count_if(spec.added, is_new);
}

}  // namespace

struct Tokenizer::Parts {
  TokenizerSpec spec;
  std::unique_ptr<const Encoder> encoder;
  std::shared_ptr<const Vocabulary> vocabulary;
  Json decoder;  // of the file
  std::string source;
  mutable std::once_flag once;
  mutable std::shared_ptr<const TokenTexts> texts;  // made when the first text is asked for

  Parts(const TokenizerJson& json, const TokenizerSettings& settings, const std::string& from);

  Text text(std::string_view text, bool ranges) const {
    TextTokens tokens;
    encoder->encode(text, ranges, tokens);
    Text out{std::move(tokens.ids), {}, {}};
    if (ranges) out.ranges = ranges_of(tokens, text, spec.around);
    return out;
  }

  void truncate(Text& text, size_t room) const {
    hone::truncate(text.ids, room, spec.truncate_left);
    hone::truncate(text.words, room, spec.truncate_left);
    hone::truncate(text.ranges, room, spec.truncate_left);
  }

  Tokens around(Text text, const EncodeOptions& options) const {
    const std::vector<PairPart>& parts = options.own_tokens ? spec.around.single : text_alone();
    const size_t most = room(parts, 1, options.max_length), count = text.ids.size();
    truncate(text, most);
    Tokens row = assemble(parts, {&text, 1}, options.ranges);
    row.left_out = static_cast<int64_t>(count - std::min(count, most));
    return row;
  }
};

Tokenizer::Parts::Parts(const TokenizerJson& json, const TokenizerSettings& settings, const std::string& from)
    : spec(read_spec(json, from)), vocabulary(json.vocabulary), source(from) {
  check_root(json.root, from);
  apply_settings(spec, json, settings, from);
  const TokenizerDef& kind = tokenizer_kind(json.root, from);
  auto normalizer = read_normalizer(member(json.root, "normalizer"), from + ": normalizer");
  PreTokenizers splitter = read_pre_tokenizer(member(json.root, "pre_tokenizer"), from + ": pre_tokenizer");
  if (splitter.byte_level && std::string_view(kind.name) != "byte_bpe")
    fail("{}: pre_tokenizer: ByteLevel with a model of kind {} is not supported", from, kind.name);
  encoder = std::make_unique<Encoder>(std::move(normalizer), std::move(splitter), kind.read(json, from), spec.added);
  check_ids(json, spec, from);
  spec.vocabulary_size = count_tokens(json, spec);
  decoder = member(json.root, "decoder");
}

Tokenizer Tokenizer::from_files(const std::map<std::string, std::string>& files, const std::string& source) {
  return from_files(files, read_tokenizer_settings(files, source), source);
}

Tokenizer Tokenizer::from_files(const std::map<std::string, std::string>& files, const TokenizerSettings& settings,
                                const std::string& source) {
  if (const auto json = files.find(kTokenizerJson); json != files.end())
    return from_json(json->second, fmt::format("{}: {}", source, kTokenizerJson), settings);
  return Tokenizer(std::make_shared<Parts>(convert_tokenizer_files(files, settings, source), settings, source));
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& source, const TokenizerSettings& settings) {
  return Tokenizer(std::make_shared<Parts>(read_tokenizer_json(text, source), settings, source));
}

Tokenizer Tokenizer::from_vocab(std::string_view text, const TokenizerSettings& settings, const std::string& source) {
  const TokenizerJson json = convert_tokenizer_files({{kVocabTxt, std::string(text)}}, settings, source);
  return Tokenizer(std::make_shared<Parts>(json, settings, source));
}

Tokenizer Tokenizer::from_vocab(std::string_view text, bool lowercase, const std::string& source) {
  TokenizerSettings settings;
  settings.lowercase = lowercase;
  return from_vocab(text, settings, source);
}

const TokenizerSpec& Tokenizer::spec() const { return parts_->spec; }

std::vector<int64_t> Tokenizer::encode(std::string_view text, int64_t max_length) const {
  TextTokens tokens;
  parts_->encoder->encode(text, false, tokens);
  const std::vector<PairPart>& parts = spec().around.single;
  truncate(tokens.ids, room(parts, 1, max_length), spec().truncate_left);
  std::vector<int64_t> ids;
  ids.reserve(tokens.ids.size() + parts.size());
  for (const PairPart& part : parts) {
    if (part.token >= 0) ids.push_back(part.token);
    else ids.insert(ids.end(), tokens.ids.begin(), tokens.ids.end());
  }
  return ids;
}

Tokens Tokenizer::encode_text(std::string_view text, const EncodeOptions& options) const {
  Text tokens = parts_->text(text, options.ranges);
  tokens.words.resize(tokens.ids.size());
  return parts_->around(std::move(tokens), options);
}

Tokens Tokenizer::encode_words(std::span<const std::string> words, const EncodeOptions& options) const {
  Text all;
  for (size_t w = 0; w < words.size(); ++w) {
    const Text word = parts_->text(words[w], options.ranges);
    all.ids.insert(all.ids.end(), word.ids.begin(), word.ids.end());
    all.ranges.insert(all.ranges.end(), word.ranges.begin(), word.ranges.end());
    all.words.insert(all.words.end(), word.ids.size(), static_cast<int64_t>(w));
  }
  return parts_->around(std::move(all), options);
}

Tokens Tokenizer::encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options) const {
  static const std::vector<PairPart> kAlone{{PairPart::kFirst, 0}, {PairPart::kSecond, 0}};
  const std::vector<PairPart>& parts = options.own_tokens ? spec().around.pair : kAlone;
  if (parts.empty()) fail("the tokenizer states no template for a pair of texts, so it takes one text a row");
  Text texts[] = {parts_->text(first, options.ranges), parts_->text(second, options.ranges)};
  const size_t a = texts[0].ids.size(), b = texts[1].ids.size(), most = room(parts, 2, options.max_length);
  if (a + b > most) {  // what the shorter leaves free goes to the longer; else each gets half, the longer the odd one
    const size_t shorter = std::min({a, b, most / 2});
    parts_->truncate(texts[0], a > b ? most - shorter : shorter);
    parts_->truncate(texts[1], a > b ? shorter : most - shorter);
  }
  for (Text& text : texts) text.words.resize(text.ids.size());
  Tokens row = assemble(parts, texts, options.ranges);
  row.left_out = static_cast<int64_t>(a + b - std::min(a + b, most));
  return row;
}

Tokens Tokenizer::encode_text(std::string_view text, int64_t max_length) const {
  return encode_text(text, EncodeOptions{.max_length = max_length});
}
Tokens Tokenizer::encode_pair(std::string_view first, std::string_view second, int64_t max_length) const {
  return encode_pair(first, second, EncodeOptions{.max_length = max_length});
}
Tokens Tokenizer::encode_words(std::span<const std::string> words, int64_t max_length) const {
  return encode_words(words, EncodeOptions{.max_length = max_length});
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
    if (padding > 0 && !spec().pad_id)
      fail("the tokenizer has no padding token, so texts of different length can't share a batch");
    const size_t at = start + (spec().pad_left ? padding : 0);
    std::fill_n(ids.begin() + static_cast<int64_t>(start), width, spec().pad_id.value_or(0));
    std::copy(rows[r].begin(), rows[r].end(), ids.begin() + static_cast<int64_t>(at));
    std::fill_n(mask.begin() + static_cast<int64_t>(at), rows[r].size(), 1);
  }
  return batch;
}

TextStream Tokenizer::stream(bool skip_special) const {
  std::call_once(parts_->once, [&] {
    std::vector<AddedToken> added;
    for (const AddedToken& token : parts_->spec.added) added.push_back(parts_->encoder->as_found(token));
    parts_->texts =
        std::make_shared<TokenTexts>(*parts_->vocabulary, added, parts_->decoder, parts_->source + ": decoder");
  });
  return TextStream(parts_->texts, skip_special);
}

std::string Tokenizer::decode(std::span<const int64_t> ids, bool skip_special) const {
  TextStream text = stream(skip_special);
  std::string out;
  for (const int64_t id : ids) out += text.add(id);
  return out + text.finish();
}

}  // namespace hone
