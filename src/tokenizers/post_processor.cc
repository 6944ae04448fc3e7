#include "tokenizers/post_processor.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/stop.h"
#include "tokenizers/json_parts.h"

namespace hone {
namespace {

// [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, ...]; `texts` are the
// sequences that it must hold.
std::vector<PairPart> read_parts(const Json& list, const Json& specials, std::string_view texts, const char* what,
                                 const std::string& source) {
  std::vector<PairPart> parts;
  std::string order;
  std::unordered_map<std::string_view, const Json*> tokens;  // by name
  if (specials.is_object())
    for (const auto& [name, token] : specials.get_ref<const Json::object_t&>()) tokens.emplace(name, &token);
  for (const Json& item : list) {
    check_stop();
    const bool is_text = item.contains("Sequence");
    const Json part = json_get<Json>(item, is_text ? "Sequence" : "SpecialToken", source);
    const auto name = json_get<std::string>(part, "id", source);
    const auto type = get_or<int64_t>(part, "type_id", 0, source);
    if (is_text) {
      order += name;
      parts.push_back({name == "A" ? PairPart::kFirst : PairPart::kSecond, type});
      continue;
    }
    const auto token = tokens.find(name);
    const auto ids = json_get<std::vector<int64_t>>(
        token == tokens.end() ? json_get<Json>(specials, name, source) : *token->second, "ids", source);
    constexpr size_t kMostParts = 4096;
    if (parts.size() + ids.size() > kMostParts)
      fail("{}: the template for a {} puts more than {} tokens around", source, what, kMostParts);
    for (const int64_t id : ids) {
      if (id < 0) fail("{}: the token \"{}\" has id {}", source, name, id);
      parts.push_back({id, type});
    }
  }
  if (order == texts) return parts;
  fail("{}: the template for a {} must hold sequence {}", source, what, texts == "A" ? "A once" : "A, then B, once");
}

void read_template(const Json& json, PostProcessor& out, const std::string& source) {
  check_keys(json, {{"type"}, {"single"}, {"pair"}, {"special_tokens"}}, source);
  const auto specials = get_or<Json>(json, "special_tokens", Json::object(), source);
  out.single = read_parts(json_get<Json>(json, "single", source), specials, "A", "single text", source);
  if (const Json& pair = member(json, "pair"); !pair.is_null() && !pair.empty())
    out.pair = read_parts(pair, specials, "AB", "pair", source);
}

struct Ends {
  int64_t cls, sep;
};
Ends read_ends(const Json& json, const std::string& source) {
  using Pair = std::pair<std::string, int64_t>;
  const Ends ends{json_get<Pair>(json, "cls", source).second, json_get<Pair>(json, "sep", source).second};
  if (ends.cls < 0 || ends.sep < 0) fail("{}: cls and sep have ids {} and {}", source, ends.cls, ends.sep);
  return ends;
}

void read_bert(const Json& json, PostProcessor& out, const std::string& source) {
  check_keys(json, {{"type"}, {"cls"}, {"sep"}}, source);
  const auto [cls, sep] = read_ends(json, source);
  out.single = {{cls, 0}, {PairPart::kFirst, 0}, {sep, 0}};
  out.pair = bert_pair(cls, sep);
}

void read_trimming(const Json& json, PostProcessor& out, const std::string& source) {
  out.trims_offsets = get_or(json, "trim_offsets", true, source);
  out.keeps_prefix = get_or(json, "add_prefix_space", true, source);
}

// <s> A </s>, and <s> A </s> </s> B </s>; all of type 0.
void read_roberta(const Json& json, PostProcessor& out, const std::string& source) {
  check_keys(json, {{"type"}, {"cls"}, {"sep"}, {"trim_offsets"}, {"add_prefix_space"}}, source);
  const auto [cls, sep] = read_ends(json, source);
  out.single = {{cls, 0}, {PairPart::kFirst, 0}, {sep, 0}};
  out.pair = {{cls, 0}, {PairPart::kFirst, 0}, {sep, 0}, {sep, 0}, {PairPart::kSecond, 0}, {sep, 0}};
  read_trimming(json, out, source);
}

void read_byte_level(const Json& json, PostProcessor& out, const std::string& source) {
  check_keys(json, {{"type"}, {"trim_offsets"}, {"add_prefix_space"}, {"use_regex"}}, source);
  read_trimming(json, out, source);
}

// `putting`: the processor that puts tokens around, or empty. The library lets several do so, one around the other.
void read_into(const Json& json, PostProcessor& out, std::string& putting, const std::string& source) {
  const std::string type = type_of(json, source);
  const std::string place = fmt::format("{}: {}", source, type);
  if (type == "TemplateProcessing" || type == "BertProcessing" || type == "RobertaProcessing") {
    if (!putting.empty()) fail("{}: {} and {} both put tokens around, which is not supported", source, putting, type);
    putting = type;
  }
  if (type == "TemplateProcessing") return read_template(json, out, place);
  if (type == "BertProcessing") return read_bert(json, out, place);
  if (type == "RobertaProcessing") return read_roberta(json, out, place);
  if (type == "ByteLevel") return read_byte_level(json, out, place);
  if (type == "Sequence") {
    check_keys(json, {{"type"}, {"processors"}}, place);
    for (const Json& each : json_get<Json>(json, "processors", place)) read_into(each, out, putting, place);
    return;
  }
  if (!type.empty())
    fail(
        "{}: type \"{}\" is not supported; supported: TemplateProcessing, BertProcessing, RobertaProcessing, "
        "ByteLevel, "
        "Sequence",
        source, type);
}

}  // namespace

std::vector<PairPart> bert_pair(int64_t cls, int64_t sep) {
  return {{cls, 0}, {PairPart::kFirst, 0}, {sep, 0}, {PairPart::kSecond, 1}, {sep, 1}};
}

PostProcessor read_post_processor(const Json& json, const std::string& source) {
  PostProcessor out;
  std::string putting;
  read_into(json, out, putting, source);
  return out;
}

}  // namespace hone
