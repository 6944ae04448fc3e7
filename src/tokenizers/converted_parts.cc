#include "tokenizers/converted_parts.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/stop.h"
#include "base/utf8.h"
#include "tokenizers/json_parts.h"

namespace hone {
namespace {

Json added_json(const AddedToken& token) {
  return Json{{"id", token.id},          {"content", token.text},  {"single_word", token.single_word},
              {"lstrip", token.lstrip},  {"rstrip", token.rstrip}, {"normalized", token.normalized},
              {"special", token.special}};
}

int64_t characters(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

}  // namespace

void put_merges_of_scores(TokenizerJson& json) {
  struct Merge {
    std::string_view left, right;
    double score;
    int64_t left_id, right_id, left_size, right_size;
  };
  std::vector<Merge> merges;
  const Vocabulary& vocabulary = *json.vocabulary;
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    check_stop();
    const std::string_view text = vocabulary.entry(i).text;
    const size_t first = merges.size();
    for (size_t at = text.empty() ? 0 : utf8_length(text[0]); at < text.size(); at += utf8_length(text[at])) {
      const std::string_view left = text.substr(0, at), right = text.substr(at);
      const int64_t a = vocabulary.find(left), b = vocabulary.find(right);
      if (a >= 0 && b >= 0) merges.push_back({left, right, json.scores[i], a, b, characters(left), characters(right)});
    }
    std::sort(merges.begin() + static_cast<int64_t>(first), merges.end(), [](const Merge& x, const Merge& y) {
      return std::pair(x.left_id, x.right_id) < std::pair(y.left_id, y.right_id);
    });
  }
  std::ranges::stable_sort(merges, [](const Merge& x, const Merge& y) {
    return std::tuple(x.score, x.left_size, x.right_size) > std::tuple(y.score, y.left_size, y.right_size);
  });
  for (const Merge& merge : merges) json.merges.add(merge.left, merge.right);
}

AddedToken special_token(const TokenizerSettings& settings, const char* key, const char* usual) {
  const auto found = settings.specials.find(key);
  return found == settings.specials.end() ? AddedToken{.text = usual, .special = true} : found->second;
}

void put_added_tokens(TokenizerJson& json, const std::vector<AddedToken>& specials, const TokenizerSettings& settings,
                      const std::string& source) {
  std::vector<AddedToken> all;
  std::unordered_map<std::string, size_t> places;
  const auto put = [&](const AddedToken& token) {
    const auto [known, is_new] = places.emplace(token.text, all.size());
    if (is_new) all.push_back(token);
    else all[known->second] = token;
  };
  for (AddedToken token : specials)
    if (token.id = json.vocabulary->find(token.text); token.id != Vocabulary::kAbsent) put(token);
  for (const AddedToken& token : settings.added) {
    if (token.text.empty()) fail("{}: an added token, with id {}, is empty", source, token.id);
    const int64_t known = json.vocabulary->find(token.text);
    if (token.id < 0 || (known != Vocabulary::kAbsent && known != token.id))
      fail("{}: the added token \"{}\" has id {}, and {} in the vocabulary", source, token.text, token.id, known);
    put(token);
  }
  Json& list = json.root["added_tokens"] = Json::array();
  for (const AddedToken& token : all) list.push_back(added_json(token));
}

int64_t id_of(const TokenizerJson& json, const std::string& text) {
  const Json& added = member(json.root, "added_tokens");
  for (const Json& token : added)
    if (token["content"] == text) return token["id"].get<int64_t>();
  return json.vocabulary->find(text);
}

Json template_of(const TokenizerJson& json, const std::vector<std::string>& single,
                 const std::vector<std::string>& pair, const std::string& source) {
  Json specials = Json::object();
  const auto parts = [&](const std::vector<std::string>& names) {
    Json list = Json::array();
    for (std::string name : names) {
      const bool second = name.ends_with(":1");
      if (second) name.resize(name.size() - 2);
      const bool is_text = name == "A" || name == "B";
      list.push_back({{is_text ? "Sequence" : "SpecialToken", {{"id", name}, {"type_id", second ? 1 : 0}}}});
      if (is_text) continue;
      const int64_t id = id_of(json, name);
      if (id == Vocabulary::kAbsent) fail("{}: token {} is missing, which stands around texts", source, name);
      specials[name] = {{"id", name}, {"ids", {id}}, {"tokens", {name}}};
    }
    return list;
  };
  Json out{{"type", "TemplateProcessing"}, {"single", parts(single)}, {"pair", parts(pair)}};
  out["special_tokens"] = std::move(specials);
  return out;
}

void refuse_other_flags(const TokenizerSettings& settings, std::span<const std::string_view> followed,
                        const std::string& source) {
  const std::pair<std::string_view, std::optional<bool>> flags[] = {{"add_prefix_space", settings.add_prefix_space},
                                                                    {"add_bos_token", settings.add_bos},
                                                                    {"add_eos_token", settings.add_eos},
                                                                    {"keep_accents", settings.keep_accents},
                                                                    {"split_by_punct", settings.split_by_punct}};
  for (const auto& [key, value] : flags)
    if (value.value_or(false) && std::ranges::find(followed, key) == followed.end())
      fail("{}: {}: key \"{}\" is true, which is not supported with these files; accepted: false", source,
           kTokenizerConfig, key);
}

void refuse_class(const TokenizerSettings& settings, std::span<const char* const> known, const std::string& source) {
  fail("{}: key \"tokenizer_class\" is {}; with these files accepted: {}. Or save the folder with a tokenizer.json",
       source, settings.tokenizer_class.empty() ? "not stated" : fmt::format("\"{}\"", settings.tokenizer_class),
       fmt::join(known, ", "));
}

}  // namespace hone
