#include "data/tokenizer_settings.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/settings.h"
#include "data/unicode.h"

namespace hone {
namespace {

constexpr const char* kSpecials[] = {"unk_token", "cls_token", "sep_token", "pad_token", "mask_token"};

constexpr Setting kSettings[] = {
    // followed
    {"do_lower_case"},
    {"strip_accents"},
    {"tokenize_chinese_chars"},
    {"unk_token"},
    {"cls_token"},
    {"sep_token"},
    {"pad_token"},
    {"mask_token"},
    {"added_tokens_decoder"},
    {"padding_side", R"("right" | "left")"},
    {"truncation_side", R"("right" | "left")"},
    {"model_max_length"},
    // names that tokens have for people, and what is done with ids
    {"bos_token"},
    {"eos_token"},
    {"additional_special_tokens"},
    {"extra_special_tokens"},
    {"clean_up_tokenization_spaces"},
    {"model_input_names"},
    {"pad_token_type_id"},
    // where it came from, and what a call was given once
    {"name_or_path"},
    {"tokenizer_file"},
    {"vocab_file"},
    {"special_tokens_map_file"},
    {"processor_class"},
    {"use_fast"},
    {"backend"},
    {"is_local"},
    {"local_files_only"},
    {"transformers_version"},
    {"max_length"},
    {"max_len"},
    {"stride"},
    {"pad_to_multiple_of"},
    {"truncation_strategy"},
    {"truncation"},
    {"padding"},
    // read in one way alone
    {"do_basic_tokenize", "true"},
    {"clean_text", "true"},
    {"wordpieces_prefix", R"("##")"},
    {"add_special_tokens", "true"},
    {"tokenizer_class",
     R"("BertTokenizer" | "BertTokenizerFast" | "DistilBertTokenizer" | "DistilBertTokenizerFast" | "ElectraTokenizer" | )"
     R"("ElectraTokenizerFast" | "MobileBertTokenizer" | "MobileBertTokenizerFast" | "PreTrainedTokenizerFast" | )"
     R"("PreTrainedTokenizer" | "TokenizersBackend")"},
};

// A token is a text, or an object that has it as "content".
std::string text_of(const Json& value, const std::string& key, const std::string& source) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object()) return json_get<std::string>(value, "content", source + ": " + key);
  fail("{}: key \"{}\" is {}; expected a token", source, key, json_excerpt(value));
}

std::optional<bool> flag(const Json& config, const char* key, const std::string& source) {
  if (!config.contains(key) || config[key].is_null()) return std::nullopt;
  return json_get<bool>(config, key, source);
}

std::optional<bool> is_left(const Json& config, const char* key) {
  if (!config.contains(key) || config[key].is_null()) return std::nullopt;
  return config[key] == "left";
}

void read_specials(const Json& config, const std::string& source, TokenizerSettings& settings) {
  for (const char* key : kSpecials) {
    if (!config.contains(key) || config[key].is_null()) continue;
    const std::string text = text_of(config[key], key, source);
    const auto [known, added] = settings.specials.emplace(key, text);
    if (!added && known->second != text)
      fail("{}: {} is \"{}\", and {} says \"{}\"; make them agree", source, key, text, kTokenizerConfig, known->second);
  }
}

bool is_special(const TokenizerSettings& settings, const std::string& text) {
  return std::ranges::any_of(settings.specials, [&](const auto& special) { return special.second == text; });
}

// {"101": {"content": "[CLS]", "lstrip": false, "normalized": false, "rstrip": false, "single_word": false}}
void read_decoder(const Json& config, const std::string& source, TokenizerSettings& settings) {
  const Json decoder = config.value("added_tokens_decoder", Json());
  if (decoder.is_null()) return;
  if (!decoder.is_object()) fail("{}: added_tokens_decoder is {}; expected an object", source, decoder.type_name());
  for (const auto& [id, item] : decoder.items()) {
    const std::string place = fmt::format("{}: added_tokens_decoder: {}", source, id);
    if (id.empty() || id.size() > 9 || !std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; }))
      fail("{}: no number of a token", place);
    if (!item.is_object()) fail("{}: is {}; expected an object", place, json_excerpt(item));
    if (flag(item, "single_word", place).value_or(false))
      fail("{}: single_word is true, which is not supported; accepted: false", place);
    AddedToken token{.text = json_get<std::string>(item, "content", place), .id = std::stoll(id)};
    token.lstrip = flag(item, "lstrip", place).value_or(false);
    token.rstrip = flag(item, "rstrip", place).value_or(false);
    token.normalized = flag(item, "normalized", place).value_or(false);
    settings.added.push_back(std::move(token));
  }
}

// {"<new>": 30522}; those that are no special tokens are looked for in the normalised text.
void read_added(const Json& list, const std::string& source, TokenizerSettings& settings) {
  if (list.is_null()) return;
  if (!list.is_object()) fail("{}: holds {}; expected an object from token to number", source, list.type_name());
  for (const auto& [text, id] : list.items()) {
    const auto number = json_get<int64_t>(list, text, source);
    const auto known = std::ranges::find(settings.added, text, &AddedToken::text);
    if (known != settings.added.end() && known->id == number) continue;
    if (known != settings.added.end())
      fail("{}: \"{}\" has id {}, and {} in {}", source, text, number, known->id, kTokenizerConfig);
    settings.added.push_back({.text = text, .id = number, .normalized = !is_special(settings, text)});
  }
}

std::string special(const TokenizerSettings& settings, const char* key, const char* usual) {
  const auto found = settings.specials.find(key);
  return found == settings.specials.end() ? usual : found->second;
}

void add_token(TokenizerSpec& spec, const AddedToken& token, const std::string& source) {
  if (token.text.empty()) fail("{}: an added token, with id {}, is empty", source, token.id);
  const int64_t known = spec.vocabulary.find(token.text);
  if (token.id < 0 || (known != Vocabulary::kAbsent && known != token.id))
    fail("{}: the added token \"{}\" has id {}, and {} in the vocabulary", source, token.text, token.id, known);
  const auto same = std::ranges::find(spec.added, token.text, &AddedToken::text);
  if (same == spec.added.end()) spec.added.push_back(token);
  else *same = token;
}

int64_t id_of(const TokenizerSpec& spec, const std::string& text) {
  const auto added = std::ranges::find(spec.added, text, &AddedToken::text);
  return added != spec.added.end() ? added->id : spec.vocabulary.find(text);
}

void expect_same(std::optional<bool> said, bool found, const char* key, const char* in_json,
                 const std::string& source) {
  if (said && *said != found)
    fail("{}: {} of {} is {}, and the normalizer of tokenizer.json has {} {}; make them agree", source, key,
         kTokenizerConfig, *said, in_json, found);
}

}  // namespace

TokenizerSettings read_tokenizer_settings(const std::map<std::string, std::string>& files, const std::string& source) {
  const auto read = [&](const char* name) {
    const auto found = files.find(name);
    if (found == files.end()) return Json();
    Json json = parse_json(found->second, fmt::format("{}: {}", source, name));
    if (!json.is_object()) fail("{}: {} holds {}; expected an object", source, name, json.type_name());
    return json;
  };
  const Json config = read(kTokenizerConfig);
  const auto of = [&](const char* name) { return fmt::format("{}: {}", source, name); };
  const std::string of_config = of(kTokenizerConfig);
  check_settings(config, kSettings, of_config);
  TokenizerSettings settings;
  if (config.is_object()) {
    settings.lowercase = flag(config, "do_lower_case", of_config);
    settings.strip_accents = flag(config, "strip_accents", of_config);
    settings.handle_chinese_chars = flag(config, "tokenize_chinese_chars", of_config);
    settings.pad_left = is_left(config, "padding_side");
    settings.truncate_left = is_left(config, "truncation_side");
    read_specials(config, of_config, settings);
    read_decoder(config, of_config, settings);
  }
  if (const Json map = read(kSpecialTokensMap); map.is_object()) read_specials(map, of(kSpecialTokensMap), settings);
  read_added(read(kAddedTokens), of(kAddedTokens), settings);
  return settings;
}

TokenizerSpec parse_vocab_txt(std::string_view text, const TokenizerSettings& settings, const std::string& source) {
  TokenizerSpec spec;
  spec.normalizer.lowercase = settings.lowercase.value_or(true);
  spec.normalizer.strip_accents = settings.strip_accents.value_or(spec.normalizer.lowercase);
  spec.normalizer.handle_chinese_chars = settings.handle_chinese_chars.value_or(true);
  if (!is_valid_utf8(text)) fail("{}: not valid UTF-8; expected one token a line", source);
  for (int64_t line = 0; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    std::string_view token = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (token.ends_with('\r')) token.remove_suffix(1);
    if (!token.empty() && !spec.vocabulary.add(token, line))
      fail("{}:{}: token \"{}\" is also in line {}", source, line + 1, token, spec.vocabulary.find(token) + 1);
  }
  const std::string unk = special(settings, "unk_token", "[UNK]"), cls = special(settings, "cls_token", "[CLS]"),
                    sep = special(settings, "sep_token", "[SEP]"), pad = special(settings, "pad_token", "[PAD]"),
                    mask = special(settings, "mask_token", "[MASK]");
  for (const std::string& token : {pad, unk, cls, sep, mask})
    if (const int64_t id = spec.vocabulary.find(token); id != Vocabulary::kAbsent)
      spec.added.push_back({.text = token, .id = id});
  for (const AddedToken& token : settings.added) add_token(spec, token, source);
  for (const std::string& token : {unk, cls, sep})
    if (id_of(spec, token) == Vocabulary::kAbsent)
      fail("{}: token {} is missing; expected the vocabulary of a BERT model, one token a line", source, token);
  spec.unknown_id = id_of(spec, unk);
  const int64_t first = id_of(spec, cls), last = id_of(spec, sep);
  spec.before = {first};
  spec.after = {last};
  spec.pair = bert_pair(first, last);
  if (const int64_t id = id_of(spec, pad); id != Vocabulary::kAbsent) spec.pad_id = id;
  spec.pad_left = settings.pad_left.value_or(false);
  spec.truncate_left = settings.truncate_left.value_or(false);
  return spec;
}

void apply_settings(TokenizerSpec& spec, const TokenizerSettings& settings, const std::string& source) {
  const NormalizerSpec& n = spec.normalizer;
  expect_same(settings.lowercase, n.lowercase, "do_lower_case", "lowercase", source);
  expect_same(settings.strip_accents, n.strip_accents, "strip_accents", "strip_accents", source);
  expect_same(settings.handle_chinese_chars, n.handle_chinese_chars, "tokenize_chinese_chars", "handle_chinese_chars",
              source);
  for (const AddedToken& token : settings.added) {
    const int64_t known = id_of(spec, token.text);
    if (known != token.id)
      fail("{}: {}: added_tokens_decoder has \"{}\" with id {}, and tokenizer.json {}; make them agree", source,
           kTokenizerConfig, token.text, token.id,
           known == Vocabulary::kAbsent ? "lacks it" : fmt::format("has {}", known));
  }
  spec.pad_left = settings.pad_left.value_or(spec.pad_left);
  spec.truncate_left = settings.truncate_left.value_or(spec.truncate_left);
}

}  // namespace hone
