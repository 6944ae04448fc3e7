#include "tokenizers/tokenizer_settings.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/error.h"
#include "base/json.h"
#include "base/settings.h"
#include "base/stop.h"
#include "tokenizers/bert_normalizer.h"
#include "tokenizers/json_parts.h"

namespace hone {
namespace {

constexpr const char* kSpecials[] = {"unk_token", "cls_token", "sep_token", "pad_token",
                                     "bos_token", "eos_token", "mask_token"};

constexpr Setting kSettings[] = {
    // followed
    {"do_lower_case"},
    {"strip_accents"},
    {"tokenize_chinese_chars"},
    {"keep_accents"},
    {"add_prefix_space"},
    {"add_bos_token"},
    {"add_eos_token"},
    {"legacy"},
    {"split_by_punct"},
    {"extra_ids"},
    {"unk_token"},
    {"cls_token"},
    {"sep_token"},
    {"pad_token"},
    {"bos_token"},
    {"eos_token"},
    {"mask_token"},
    {"added_tokens_decoder"},
    {"padding_side", R"("right" | "left")"},
    {"truncation_side", R"("right" | "left")"},
    {"model_max_length"},
    {"tokenizer_class"},
    // names that tokens have for people, and what is done with ids
    {"additional_special_tokens"},
    {"extra_special_tokens"},
    {"clean_up_tokenization_spaces"},
    {"model_input_names"},
    {"pad_token_type_id"},
    {"chat_template"},
    {"errors"},
    {"language"},
    {"task"},
    {"predict_timestamps"},
    {"spaces_between_special_tokens"},
    {"use_default_system_prompt"},
    {"sequence_length"},
    {"image_token"},
    {"boi_token"},
    {"eoi_token"},
    {"vocab_type"},
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
    {"split_special_tokens", "false"},
    {"trim_offsets", "true | false"},
    {"remove_space", "true"},
    {"normalize", "false"},
    {"sp_model_kwargs", "{}"},
    {"do_split", "true"},
};

std::optional<bool> flag(const Json& config, const char* key, const std::string& source) {
  if (!config.contains(key) || config[key].is_null()) return std::nullopt;
  return json_get<bool>(config, key, source);
}

std::optional<bool> is_left(const Json& config, const char* key) {
  if (!config.contains(key) || config[key].is_null()) return std::nullopt;
  return config[key] == "left";
}

// A token is a text, or an object that has it as "content".
AddedToken token_of(const Json& value, const std::string& place) {
  if (value.is_string()) return {.text = value.get<std::string>()};
  if (!value.is_object()) fail("{} is {}; expected a token", place, json_excerpt(value));
  AddedToken token{.text = json_get<std::string>(value, "content", place)};
  token.lstrip = flag(value, "lstrip", place).value_or(false);
  token.rstrip = flag(value, "rstrip", place).value_or(false);
  token.normalized = flag(value, "normalized", place).value_or(false);
  token.single_word = flag(value, "single_word", place).value_or(false);
  token.special = flag(value, "special", place).value_or(false);
  return token;
}

void read_specials(const Json& config, const std::string& source, TokenizerSettings& settings) {
  for (const char* key : kSpecials) {
    if (!config.contains(key) || config[key].is_null()) continue;
    AddedToken token = token_of(config[key], fmt::format("{}: key \"{}\"", source, key));
    token.special = true;
    const std::string text = token.text;
    const auto [known, added] = settings.specials.emplace(key, std::move(token));
    if (!added && known->second.text != text)
      fail("{}: {} is \"{}\", and {} says \"{}\"; make them agree", source, key, text, kTokenizerConfig,
           known->second.text);
  }
}

bool is_special(const TokenizerSettings& settings, const std::string& text) {
  return std::ranges::any_of(settings.specials, [&](const auto& special) { return special.second.text == text; });
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
    AddedToken token = token_of(item, place);
    if (member(item, "normalized").is_null()) token.normalized = !token.special;
    token.id = std::stoll(id);
    settings.added.push_back(std::move(token));
  }
}

// {"<new>": 30522}; those that are no special tokens are looked for in the normalised text.
void read_added(const Json& list, const std::string& source, TokenizerSettings& settings) {
  if (list.is_null()) return;
  if (!list.is_object()) fail("{}: holds {}; expected an object from token to number", source, list.type_name());
  std::unordered_map<std::string, int64_t> ids;
  for (const AddedToken& token : settings.added) ids.emplace(token.text, token.id);
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  for (const auto& [text, id] : list.items()) {
    check_stop();
    const int64_t number = id.is_number_integer() ? id.get<int64_t>() : -1;
    if (number < 0 || number > kLargest)
      fail("{}: key \"{}\" is {}; expected an integer from 0 to {}", source, text, json_excerpt(id), kLargest);
    const auto known = ids.find(text);
    if (known != ids.end() && known->second == number) continue;
    if (known != ids.end())
      fail("{}: \"{}\" has id {}, and {} in {}", source, text, number, known->second, kTokenizerConfig);
    const bool special = is_special(settings, text);
    settings.added.push_back({.text = text, .id = number, .normalized = !special, .special = special});
  }
}

void expect_same(std::optional<bool> said, bool found, const char* key, const char* in_json,
                 const std::string& source) {
  if (said && *said != found)
    fail("{}: {} of {} is {}, and {} {}; make them agree", source, key, kTokenizerConfig, *said, in_json, found);
}

// Calls found(part) for a part of tokenizer.json and the steps within it.
template <class Found>
void for_each_step(const Json& part, const char* steps, Found found) {
  if (!part.is_object()) return;
  found(part);
  if (const Json& list = member(part, steps); list.is_array())
    for (const Json& each : list) for_each_step(each, steps, found);
}

std::string class_of_model_type(const std::string& type) {
  constexpr std::pair<const char*, const char*> kClasses[] = {{"gpt2", "GPT2Tokenizer"},
                                                              {"roberta", "RobertaTokenizer"},
                                                              {"bart", "BartTokenizer"},
                                                              {"longformer", "LongformerTokenizer"},
                                                              {"deberta", "DebertaTokenizer"},
                                                              {"clip", "CLIPTokenizer"},
                                                              {"whisper", "WhisperTokenizer"},
                                                              {"qwen2", "Qwen2Tokenizer"},
                                                              {"qwen3", "Qwen2Tokenizer"},
                                                              {"xlm-roberta", "XLMRobertaTokenizer"},
                                                              {"camembert", "CamembertTokenizer"},
                                                              {"albert", "AlbertTokenizer"},
                                                              {"t5", "T5Tokenizer"},
                                                              {"deberta-v2", "DebertaV2Tokenizer"},
                                                              {"llama", "LlamaTokenizer"},
                                                              {"mistral", "LlamaTokenizer"},
                                                              {"phi3", "LlamaTokenizer"},
                                                              {"mpnet", "MPNetTokenizer"}};
  for (const auto& [known, name] : kClasses)
    if (type == known) return name;
  return "";
}

std::string read_class(const Json& config, const Json& model) {
  std::string name = member(config, "tokenizer_class").is_string() ? config["tokenizer_class"].get<std::string>() : "";
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  // Names of a class that is anything say nothing.
  if (!name.empty() && name != "PreTrainedTokenizer" && name != "TokenizersBackend") return name;
  const Json& type = member(model, "model_type");
  return type.is_string() ? class_of_model_type(type.get<std::string>()) : "";
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
    settings.keep_accents = flag(config, "keep_accents", of_config);
    settings.add_prefix_space = flag(config, "add_prefix_space", of_config);
    settings.add_bos = flag(config, "add_bos_token", of_config);
    settings.add_eos = flag(config, "add_eos_token", of_config);
    settings.legacy = flag(config, "legacy", of_config);
    settings.split_by_punct = flag(config, "split_by_punct", of_config);
    if (!member(config, "extra_ids").is_null()) settings.extra_ids = json_get<int64_t>(config, "extra_ids", of_config);
    settings.pad_left = is_left(config, "padding_side");
    settings.truncate_left = is_left(config, "truncation_side");
    read_specials(config, of_config, settings);
    read_decoder(config, of_config, settings);
    settings.decoded = settings.added.size();
  }
  if (const Json map = read(kSpecialTokensMap); map.is_object()) read_specials(map, of(kSpecialTokensMap), settings);
  read_added(read(kAddedTokens), of(kAddedTokens), settings);
  settings.tokenizer_class = read_class(config, read("config.json"));
  return settings;
}

namespace {

void check_normalizer(const TokenizerJson& json, const TokenizerSettings& settings, const std::string& source) {
  const Json& root = member(json.root, "normalizer");
  bool lowercases = false;
  for_each_step(root, "normalizers", [&](const Json& step) {
    lowercases = lowercases || member(step, "type") == "Lowercase";
    if (member(step, "type") != "BertNormalizer") return;
    const BertNormalizer n = read_bert_normalizer(step, source);
    lowercases = lowercases || n.lowercase;
    constexpr const char* kPlace = "the normalizer of tokenizer.json has";
    const auto expect = [&](std::optional<bool> said, bool found, const char* key, const char* name) {
      expect_same(said, found, key, fmt::format("{} {}", kPlace, name).c_str(), source);
    };
    expect(settings.strip_accents, n.strip_accents, "strip_accents", "strip_accents");
    expect(settings.handle_chinese_chars, n.handle_chinese_chars, "tokenize_chinese_chars", "handle_chinese_chars");
  });
  expect_same(settings.lowercase, lowercases, "do_lower_case", "the normalizer of tokenizer.json has lowercase",
              source);
}

void check_prefix(const TokenizerJson& json, const TokenizerSettings& settings, const std::string& source) {
  for_each_step(member(json.root, "pre_tokenizer"), "pretokenizers", [&](const Json& step) {
    if (member(step, "type") == "ByteLevel")
      expect_same(settings.add_prefix_space, get_or(step, "add_prefix_space", true, source), "add_prefix_space",
                  "ByteLevel of tokenizer.json has add_prefix_space", source);
  });
}

// Whether the template puts the token at this end of a text; nothing is said of a token without a name.
void check_end(std::optional<bool> said, const char* special, bool front, const TokenizerSpec& spec,
               const TokenizerJson& json, const TokenizerSettings& settings, const std::string& source) {
  const auto name = settings.specials.find(special);
  if (!said || name == settings.specials.end()) return;
  const auto added = std::ranges::find(spec.added, name->second.text, &AddedToken::text);
  const int64_t id = added != spec.added.end() ? added->id : json.vocabulary->find(name->second.text);
  const std::vector<PairPart>& parts = spec.around.single;
  const bool has = (front ? parts.front() : parts.back()).token == id && id >= 0;
  expect_same(said, has, front ? "add_bos_token" : "add_eos_token",
              "that the post_processor of tokenizer.json puts it there is", source);
}

void apply_added(TokenizerSpec& spec, const TokenizerJson& json, const TokenizerSettings& settings,
                 const std::string& source) {
  std::unordered_map<std::string, size_t> places;
  for (size_t i = 0; i < spec.added.size(); ++i) places.emplace(spec.added[i].text, i);
  for (size_t i = 0; i < settings.added.size(); ++i) {
    check_stop();
    const AddedToken& token = settings.added[i];
    const bool is_decoded = i < settings.decoded;
    const auto added = places.find(token.text);
    const int64_t known = added != places.end() ? spec.added[added->second].id : json.vocabulary->find(token.text);
    if (known != token.id)
      fail("{}: {}: \"{}\" has id {}, and tokenizer.json {}; make them agree", source,
           is_decoded ? "tokenizer_config.json: added_tokens_decoder" : kAddedTokens, token.text, token.id,
           known == Vocabulary::kAbsent ? "lacks it" : fmt::format("has {}", known));
    if (added == places.end()) {
      places.emplace(token.text, spec.added.size());
      spec.added.push_back(token);
    } else if (is_decoded) {  // added_tokens.json says less than tokenizer.json does
      spec.added[added->second] = token;
    }
  }
}

std::optional<int64_t> padding_id(const TokenizerSpec& spec, const TokenizerJson& json,
                                  const TokenizerSettings& settings) {
  const auto named = settings.specials.find("pad_token");
  const std::string stated = named == settings.specials.end() ? "" : named->second.text;
  for (const std::string& text : {stated, std::string("[PAD]"), std::string("<pad>")}) {
    const auto added = std::ranges::find(spec.added, text, &AddedToken::text);
    if (added != spec.added.end()) return added->id;
    if (const int64_t id = json.vocabulary->find(text); id >= 0 && !text.empty()) return id;
  }
  return std::nullopt;
}

}  // namespace

void apply_settings(TokenizerSpec& spec, const TokenizerJson& json, const TokenizerSettings& settings,
                    const std::string& source) {
  check_normalizer(json, settings, source);
  check_prefix(json, settings, source);
  check_end(settings.add_bos, "bos_token", true, spec, json, settings, source);
  check_end(settings.add_eos, "eos_token", false, spec, json, settings, source);
  apply_added(spec, json, settings, source);
  if (!spec.pad_id || settings.specials.contains("pad_token")) spec.pad_id = padding_id(spec, json, settings);
  spec.pad_left = settings.pad_left.value_or(spec.pad_left);
  spec.truncate_left = settings.truncate_left.value_or(spec.truncate_left);
}

}  // namespace hone
