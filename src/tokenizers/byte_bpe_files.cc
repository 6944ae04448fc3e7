#include "tokenizers/byte_bpe_files.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizers/converted_parts.h"
#include "tokenizers/json_parts.h"
#include "tokenizers/split_patterns.h"

namespace hone {
namespace {

// {"model": {"type": "BPE", "vocab": <vocab.json>}}, so that the vocabulary is read as that of a tokenizer.json.
TokenizerJson read_vocabulary(const std::string& vocabulary, const std::string& source) {
  TokenizerJson json = read_tokenizer_json("{\"model\": {\"type\": \"BPE\", \"vocab\": " + vocabulary + "}}", source);
  const Json& model = member(json.root, "model");  // a text that closes it could say more
  if (json.root.size() != 1 || model.size() != 2 || !member(model, "vocab").is_object())
    fail("{}: is not one JSON object from token to number", source);
  return json;
}

// A pair a line, behind a line that says the version.
void read_merges(std::string_view text, MergeList& merges, const std::string& source) {
  if (!is_valid_utf8(text)) fail("{}: not valid UTF-8; expected two texts a line", source);
  for (int64_t line = 1; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    std::string_view pair = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (pair.ends_with('\r')) pair.remove_suffix(1);
    if (pair.empty() || (line == 1 && pair.starts_with("#version"))) continue;
    const size_t blank = pair.find(' ');
    if (blank == std::string_view::npos || pair.find(' ', blank + 1) != std::string_view::npos)
      fail("{}:{}: \"{}\"; expected two texts with a blank between", source, line, pair);
    merges.add(pair.substr(0, blank), pair.substr(blank + 1));
  }
}

Json byte_level(bool prefix, bool splits, bool trims) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", trims}, {"use_regex", splits}};
}

Json split(const char* pattern, const char* behaviour, bool invert) {
  return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", behaviour}, {"invert", invert}};
}

Json sequence(const char* name, std::vector<Json> steps) { return {{"type", "Sequence"}, {name, std::move(steps)}}; }

struct Specials {
  AddedToken unk, bos, eos, pad, cls, sep, mask;
};

void convert_gpt2(TokenizerJson& json, const Specials& t, const TokenizerSettings& settings,
                  const std::string& source) {
  json.root["pre_tokenizer"] = byte_level(settings.add_prefix_space.value_or(false), true, true);
  put_added_tokens(json, {t.unk, t.bos, t.eos, t.pad}, settings, source);
  json.root["post_processor"] = settings.add_bos.value_or(false)
                                    ? template_of(json, {t.bos.text, "A"}, {t.bos.text, "A", t.bos.text, "B:1"}, source)
                                    : byte_level(true, true, false);
}

// <s> A </s>, and <s> A </s> </s> B </s>.
void convert_roberta(TokenizerJson& json, const Specials& t, const TokenizerSettings& settings,
                     const std::string& source) {
  const bool prefix = settings.add_prefix_space.value_or(false);
  json.root["pre_tokenizer"] = byte_level(prefix, true, true);
  put_added_tokens(json, {t.bos, t.pad, t.eos, t.unk, t.cls, t.sep, t.mask}, settings, source);
  const int64_t cls = id_of(json, t.cls.text), sep = id_of(json, t.sep.text);
  if (cls < 0 || sep < 0)
    fail("{}: token {} is missing, which stands around texts", source, cls < 0 ? t.cls.text : t.sep.text);
  json.root["post_processor"] = {{"type", "RobertaProcessing"},
                                 {"sep", {t.sep.text, sep}},
                                 {"cls", {t.cls.text, cls}},
                                 {"add_prefix_space", prefix},
                                 {"trim_offsets", true}};
}

void convert_deberta(TokenizerJson& json, const Specials& t, const TokenizerSettings& settings,
                     const std::string& source) {
  json.root["pre_tokenizer"] = byte_level(settings.add_prefix_space.value_or(false), true, true);
  put_added_tokens(json, {t.cls, t.pad, t.sep, t.unk, t.mask}, settings, source);
  const std::string &cls = t.cls.text, &sep = t.sep.text;
  json.root["post_processor"] = template_of(json, {cls, "A", sep}, {cls, "A", sep, "B:1", sep + ":1"}, source);
}

void convert_clip(TokenizerJson& json, const Specials& t, const TokenizerSettings& settings,
                  const std::string& source) {
  json.root["normalizer"] =
      sequence("normalizers",
               {Json{{"type", "NFC"}}, Json{{"type", "Replace"}, {"pattern", {{"Regex", "\\s+"}}}, {"content", " "}},
                Json{{"type", "Lowercase"}}});
  json.root["pre_tokenizer"] =
      sequence("pretokenizers", {split(split_pattern_of("clip"), "Removed", true), byte_level(false, true, true)});
  json.root["model"]["unk_token"] = t.unk.text;
  json.root["model"]["end_of_word_suffix"] = "</w>";
  put_added_tokens(json, {t.bos, t.eos, t.unk, t.pad}, settings, source);
  const int64_t bos = id_of(json, t.bos.text), eos = id_of(json, t.eos.text);
  if (bos < 0 || eos < 0)
    fail("{}: token {} is missing, which stands around texts", source, bos < 0 ? t.bos.text : t.eos.text);
  json.root["post_processor"] = {{"type", "RobertaProcessing"},
                                 {"sep", {t.eos.text, eos}},
                                 {"cls", {t.bos.text, bos}},
                                 {"add_prefix_space", false},
                                 {"trim_offsets", false}};
}

void convert_qwen2(TokenizerJson& json, const Specials& t, const TokenizerSettings& settings,
                   const std::string& source) {
  json.root["normalizer"] = {{"type", "NFC"}};
  json.root["pre_tokenizer"] =
      sequence("pretokenizers", {split(split_pattern_of("qwen2"), "Isolated", false), byte_level(false, false, false)});
  put_added_tokens(json, {t.unk, t.bos, t.eos, t.pad}, settings, source);
  json.root["post_processor"] = byte_level(false, false, false);
}

struct Family {
  const char* name;  // tokenizer_class
  void (*convert)(TokenizerJson&, const Specials&, const TokenizerSettings&, const std::string&);
  std::span<const std::string_view> flags;  // that it follows
  const char *unk, *bos, *eos, *pad, *cls, *sep, *mask;
};
constexpr std::string_view kPrefix[] = {"add_prefix_space"}, kGpt2[] = {"add_prefix_space", "add_bos_token"};
constexpr const char* kEnd = "<|endoftext|>";
constexpr Family kFamilies[] = {
    {"GPT2Tokenizer", convert_gpt2, kGpt2, kEnd, kEnd, kEnd, "", "", "", ""},
    {"RobertaTokenizer", convert_roberta, kPrefix, "<unk>", "<s>", "</s>", "<pad>", "<s>", "</s>", "<mask>"},
    {"BartTokenizer", convert_roberta, kPrefix, "<unk>", "<s>", "</s>", "<pad>", "<s>", "</s>", "<mask>"},
    {"LongformerTokenizer", convert_roberta, kPrefix, "<unk>", "<s>", "</s>", "<pad>", "<s>", "</s>", "<mask>"},
    {"DebertaTokenizer", convert_deberta, kPrefix, "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"},
    {"CLIPTokenizer", convert_clip, {}, kEnd, "<|startoftext|>", kEnd, kEnd, "", "", ""},
    {"Qwen2Tokenizer", convert_qwen2, {}, kEnd, "", kEnd, kEnd, "", "", ""}};

}  // namespace

bool has_byte_bpe_files(const NamedFiles& files) { return files.contains(kVocabJson) && files.contains(kMergesTxt); }

TokenizerJson convert_byte_bpe_files(const NamedFiles& files, const TokenizerSettings& settings,
                                     const std::string& source) {
  const auto family = std::ranges::find(kFamilies, settings.tokenizer_class, &Family::name);
  if (family == std::end(kFamilies)) {
    std::vector<const char*> known;
    for (const Family& each : kFamilies) known.push_back(each.name);
    refuse_class(settings, known, source);
  }
  refuse_other_flags(settings, family->flags, source);
  TokenizerJson json = read_vocabulary(files.at(kVocabJson), fmt::format("{}: {}", source, kVocabJson));
  read_merges(files.at(kMergesTxt), json.merges, fmt::format("{}: {}", source, kMergesTxt));
  json.root["decoder"] = byte_level(true, true, true);
  const auto special = [&](const char* key, const char* usual) { return special_token(settings, key, usual); };
  Specials t{special("unk_token", family->unk),  special("bos_token", family->bos), special("eos_token", family->eos),
             special("pad_token", family->pad),  special("cls_token", family->cls), special("sep_token", family->sep),
             special("mask_token", family->mask)};
  t.mask.lstrip = true;  // of each of these classes
  family->convert(json, t, settings, source);
  return json;
}

}  // namespace hone
