#include "data/tokenizer_spec.h"

#include "base/error.h"
#include "base/json.h"
#include "base/settings.h"
#include "data/tokenizer_json_reader.h"
#include "data/unicode.h"

namespace hone {
namespace {

constexpr Setting kRoot[] = {{"version"},       {"truncation"},     {"padding"}, {"added_tokens"}, {"normalizer"},
                             {"pre_tokenizer"}, {"post_processor"}, {"decoder"}, {"model"}};
constexpr Setting kNormalizer[] = {
    {"type"}, {"clean_text"}, {"handle_chinese_chars"}, {"strip_accents"}, {"lowercase"}};
constexpr Setting kPreTokenizer[] = {{"type"}};
constexpr Setting kModel[] = {
    {"type"}, {"vocab"}, {"unk_token"}, {"continuing_subword_prefix"}, {"max_input_chars_per_word"}};
constexpr Setting kAdded[] = {{"id"},     {"content"},    {"single_word"}, {"lstrip"},
                              {"rstrip"}, {"normalized"}, {"special"}};
constexpr Setting kTemplate[] = {{"type"}, {"single"}, {"pair"}, {"special_tokens"}};
constexpr Setting kBertProcessing[] = {{"type"}, {"cls"}, {"sep"}};
constexpr Setting kPadding[] = {{"strategy"}, {"direction"},   {"pad_to_multiple_of"},
                                {"pad_id"},   {"pad_type_id"}, {"pad_token"}};
constexpr Setting kTruncation[] = {{"direction"}, {"max_length"}, {"stride"}, {"strategy"}};

// Keys of the tokenizers library, each of which is followed, or of calls and of text made from ids.
void check_keys(const Json& part, std::span<const Setting> known, const char* name, const std::string& source) {
  check_settings(part, known, *name ? fmt::format("{}: {}", source, name) : source);
}

const Json& member(const Json& object, const char* key) {
  static const Json null;
  return object.is_object() && object.contains(key) ? object.at(key) : null;
}

// The member as T, or `fallback` when it is absent or null.
template <class T>
T get_or(const Json& object, const char* key, T fallback, const std::string& source) {
  return member(object, key).is_null() ? fallback : json_get<T>(object, key, source);
}

// One of the parts, which has to be of the given type.
void check_type(const Json& root, const char* part, std::string_view supported, const std::string& source) {
  const Json& found = member(root, part);
  const std::string type = found.is_null() ? "null" : get_or<std::string>(found, "type", "", source);
  if (type != supported)
    fail("{}: {} \"{}\" is not supported; supported: {} (the tokenizers of the BERT family)", source, part, type,
         supported);
}

NormalizerSpec read_normalizer(const Json& root, const std::string& source) {
  check_type(root, "normalizer", "BertNormalizer", source);
  check_keys(member(root, "normalizer"), kNormalizer, "normalizer", source);
  const Json& n = member(root, "normalizer");
  NormalizerSpec spec;
  spec.clean_text = get_or(n, "clean_text", true, source);
  spec.handle_chinese_chars = get_or(n, "handle_chinese_chars", true, source);
  spec.lowercase = get_or(n, "lowercase", true, source);
  spec.strip_accents = get_or(n, "strip_accents", spec.lowercase, source);
  return spec;
}

void read_model(const Json& root, TokenizerSpec& spec, const std::string& source) {
  const Json& model = member(root, "model");
  // Old files leave the type out.
  if (!model.is_object() || !member(model, "type").is_null() || !model.contains("max_input_chars_per_word"))
    check_type(root, "model", "WordPiece", source);
  check_keys(model, kModel, "model", source);
  spec.continuing_prefix = get_or<std::string>(model, "continuing_subword_prefix", "##", source);
  spec.max_characters_per_word = get_or<int64_t>(model, "max_input_chars_per_word", 100, source);
  constexpr int64_t kMostCharacters = 1000;  // the time for a word grows with the square
  if (spec.max_characters_per_word < 1 || spec.max_characters_per_word > kMostCharacters)
    fail("{}: model: max_input_chars_per_word is {}; accepted: 1 to {}", source, spec.max_characters_per_word,
         kMostCharacters);
  const auto unknown = get_or<std::string>(model, "unk_token", "[UNK]", source);
  spec.unknown_id = spec.vocabulary.find(unknown);
  if (spec.vocabulary.size() == 0) fail("{}: model: the vocabulary is empty or missing", source);
  if (spec.unknown_id == Vocabulary::kAbsent)
    fail("{}: model: unk_token \"{}\" is not in the vocabulary", source, unknown);
}

void read_added_tokens(const Json& root, TokenizerSpec& spec, const std::string& source) {
  const Json& list = member(root, "added_tokens");
  if (list.is_null()) return;
  if (!list.is_array()) fail("{}: added_tokens is {}; expected a list", source, list.type_name());
  for (const Json& item : list) {
    check_keys(item, kAdded, "added_tokens", source);
    AddedToken token{.text = json_get<std::string>(item, "content", source),
                     .id = json_get<int64_t>(item, "id", source)};
    if (token.text.empty()) fail("{}: added_tokens: the token with id {} is empty", source, token.id);
    if (get_or(item, "single_word", false, source))
      fail("{}: added_tokens: \"{}\" has single_word, which is not supported; set it to false", source, token.text);
    token.lstrip = get_or(item, "lstrip", false, source);
    token.rstrip = get_or(item, "rstrip", false, source);
    token.normalized = get_or(item, "normalized", false, source);
    const int64_t known = spec.vocabulary.find(token.text);
    if (token.id < 0 || (known != Vocabulary::kAbsent && known != token.id))
      fail("{}: added_tokens: \"{}\" has id {}, but {} in the vocabulary", source, token.text, token.id, known);
    spec.added.push_back(std::move(token));
  }
}

int64_t id_of(const TokenizerSpec& spec, const std::string& text) {
  for (const AddedToken& token : spec.added)
    if (token.text == text) return token.id;
  return spec.vocabulary.find(text);
}

// {"pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, ...]}
std::vector<PairPart> read_pair(const Json& processor, const std::string& source) {
  std::vector<PairPart> parts;
  if (member(processor, "pair").is_null()) return parts;
  const Json specials = json_get<Json>(processor, "special_tokens", source);
  std::string order;  // of the sequences
  for (const Json& item : member(processor, "pair")) {
    const bool is_text = item.contains("Sequence");
    const Json part = json_get<Json>(item, is_text ? "Sequence" : "SpecialToken", source);
    const auto name = json_get<std::string>(part, "id", source);
    const auto type = get_or<int64_t>(part, "type_id", 0, source);
    if (is_text) {
      order += name;
      parts.push_back({name == "A" ? PairPart::kFirst : PairPart::kSecond, type});
      continue;
    }
    const auto ids = json_get<std::vector<int64_t>>(json_get<Json>(specials, name, source), "ids", source);
    for (int64_t id : ids) parts.push_back({id, type});
  }
  if (order != "AB") fail("{}: post_processor: the template for a pair must hold sequence A, then B, once", source);
  return parts;
}

// {"single": [{"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A"}}, ...], "special_tokens": {"[CLS]": {"ids":
// [101]}}}
void read_template(const Json& processor, TokenizerSpec& spec, const std::string& source) {
  check_keys(processor, kTemplate, "post_processor", source);
  const Json single = json_get<Json>(processor, "single", source),
             specials = json_get<Json>(processor, "special_tokens", source);
  bool seen = false;
  for (const Json& item : single) {
    if (item.contains("Sequence")) {
      if (seen || json_get<std::string>(item["Sequence"], "id", source) != "A")
        fail("{}: post_processor: the template for a single text must hold sequence A once", source);
      seen = true;
      continue;
    }
    const auto name = json_get<std::string>(json_get<Json>(item, "SpecialToken", source), "id", source);
    const auto ids = json_get<std::vector<int64_t>>(json_get<Json>(specials, name, source), "ids", source);
    auto& side = seen ? spec.after : spec.before;
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (!seen) fail("{}: post_processor: the template for a single text does not hold sequence A", source);
  spec.pair = read_pair(processor, source);
}

void read_post_processor(const Json& root, TokenizerSpec& spec, const std::string& source) {
  const Json& processor = member(root, "post_processor");
  if (processor.is_null()) return;
  const auto type = get_or<std::string>(processor, "type", "", source);
  if (type == "TemplateProcessing") return read_template(processor, spec, source);
  if (type != "BertProcessing")
    fail("{}: post_processor \"{}\" is not supported; supported: TemplateProcessing, BertProcessing", source, type);
  check_keys(processor, kBertProcessing, "post_processor", source);
  using Pair = std::pair<std::string, int64_t>;
  spec.before = {json_get<Pair>(processor, "cls", source).second};
  spec.after = {json_get<Pair>(processor, "sep", source).second};
  spec.pair = bert_pair(spec.before[0], spec.after[0]);
}

bool is_left(const Json& part, const std::string& source) {
  const auto direction = get_or<std::string>(part, "direction", "Right", source);
  if (direction != "Left" && direction != "Right")
    fail("{}: direction \"{}\"; expected Left or Right", source, direction);
  return direction == "Left";
}

}  // namespace

std::vector<PairPart> bert_pair(int64_t cls, int64_t sep) {
  return {{cls, 0}, {PairPart::kFirst, 0}, {sep, 0}, {PairPart::kSecond, 1}, {sep, 1}};
}

TokenizerSpec parse_tokenizer_json(std::string_view text, const std::string& source) {
  TokenizerSpec spec;
  const Json root = read_tokenizer_json(text, source, spec.vocabulary);
  if (!root.is_object())
    fail("{}: holds {}; expected the object that the tokenizers library saves", source, root.type_name());
  check_keys(root, kRoot, "", source);
  check_type(root, "pre_tokenizer", "BertPreTokenizer", source);
  check_keys(member(root, "pre_tokenizer"), kPreTokenizer, "pre_tokenizer", source);
  spec.normalizer = read_normalizer(root, source);
  read_model(root, spec, source);
  read_added_tokens(root, spec, source);
  read_post_processor(root, spec, source);
  const Json &padding = member(root, "padding"), &truncation = member(root, "truncation");
  check_keys(padding, kPadding, "padding", source);
  check_keys(truncation, kTruncation, "truncation", source);
  spec.pad_left = is_left(padding, source);
  spec.truncate_left = is_left(truncation, source);
  spec.stated_max_length = get_or<int64_t>(truncation, "max_length", 0, source);
  if (!member(padding, "pad_id").is_null()) spec.pad_id = json_get<int64_t>(padding, "pad_id", source);
  else if (const int64_t id = id_of(spec, "[PAD]"); id != Vocabulary::kAbsent) spec.pad_id = id;
  return spec;
}

}  // namespace hone
