#include "tokenizers/gguf_tokenizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tokenizers/converted_parts.h"
#include "tokenizers/split_patterns.h"

namespace hone {
namespace {

constexpr const char *kModel = "tokenizer.ggml.model", *kPre = "tokenizer.ggml.pre", *kTokens = "tokenizer.ggml.tokens",
                     *kTypes = "tokenizer.ggml.token_type", *kScores = "tokenizer.ggml.scores",
                     *kMerges = "tokenizer.ggml.merges", *kAddBos = "tokenizer.ggml.add_bos_token",
                     *kAddEos = "tokenizer.ggml.add_eos_token", *kPrefix = "tokenizer.ggml.add_space_prefix";
constexpr int64_t kControl = 3, kUserDefined = 4;  // of token_type

// What is put together: the metadata, and the tokenizer.json that grows.
struct Conversion {
  const GgufMetadata& metadata;
  TokenizerJson json;
  std::vector<std::string> tokens;  // as the tokenizer has them
  std::vector<AddedToken> added;    // those that are cut out of texts
  const std::string& source() const { return metadata.source(); }

  // Texts of tokens by `written`, which is given a text and whether it is of the model, not of texts.
  template <class Written>
  void read_tokens(Written written) {
    const std::vector<std::string_view>& texts = metadata.texts(kTokens);
    const std::vector<int64_t> types = metadata.has(kTypes) ? metadata.integers(kTypes) : std::vector<int64_t>();
    check_size(kTypes, types.size(), metadata.has(kTypes));
    for (size_t i = 0; i < texts.size(); ++i) {
      if (!is_valid_utf8(texts[i])) fail("{}: token {} is not valid UTF-8", source(), i);
      const int64_t type = types.empty() ? 0 : types[i];
      const bool cut_out = type == kControl || type == kUserDefined;
      tokens.push_back(written(texts[i], cut_out));
      if (!json.vocabulary->add(tokens.back(), static_cast<int64_t>(i)))
        fail("{}: token {}, \"{}\", is there twice", source(), i, tokens.back());
      if (cut_out && !texts[i].empty())
        added.push_back({.text = tokens.back(), .id = static_cast<int64_t>(i), .special = type == kControl});
    }
  }
  void read_tokens() {
    read_tokens([](std::string_view text, bool) { return std::string(text); });
  }

  void check_size(const char* key, size_t found, bool is_there) const {
    const size_t wanted = metadata.texts(kTokens).size();
    if (is_there && found != wanted)
      fail("{}: {} has {} entries for {} tokens; they must be as many", source(), key, found, wanted);
  }

  // The token that a key names ("bos" of tokenizer.ggml.bos_token_id).
  std::optional<std::string> token(std::string_view name) const {
    const std::string key = fmt::format("tokenizer.ggml.{}_token_id", name);
    if (!metadata.has(key)) return std::nullopt;
    const int64_t id = metadata.integer(key);
    if (id < 0 || id >= std::ssize(tokens)) fail("{}: {} is {}; there are {} tokens", source(), key, id, tokens.size());
    return tokens[static_cast<size_t>(id)];
  }
  std::string needed_token(std::string_view name, const char* why) const {
    if (std::optional<std::string> found = token(name)) {
      if (*found == "A" || *found == "B" || found->ends_with(":1"))  // stand for the texts in a template
        fail("{}: tokenizer.ggml.{}_token_id names \"{}\", which can't stand around texts", source(), name, *found);
      return *found;
    }
    fail("{}: key \"tokenizer.ggml.{}_token_id\" is missing: {}", source(), name, why);
  }

  std::string either_token(std::string_view name, std::string_view otherwise, const char* why) const {
    const std::optional<std::string> found = token(name);
    return found ? *found : needed_token(otherwise, why);
  }

  // Those that the file cuts out of texts, and `specials`, which are of the model.
  void put_added(const std::vector<std::string>& specials) {
    for (const std::string& text : specials)
      if (std::ranges::find(added, text, &AddedToken::text) == added.end())
        added.push_back({.text = text, .special = true});
    put_added_tokens(json, added, {}, source());
    const std::optional<std::string> pad = token("padding");
    if (pad)
      json.root["padding"] = {{"strategy", "BatchLongest"},  {"direction", "Right"}, {"pad_to_multiple_of", nullptr},
                              {"pad_id", id_of(json, *pad)}, {"pad_type_id", 0},     {"pad_token", *pad}};
  }

  // BOS and EOS where the file wants them around texts.
  std::optional<Json> ends(bool adds_bos) const {
    std::vector<std::string> single{"A"}, pair{"A", "B:1"};
    if (metadata.flag_or(kAddBos, adds_bos)) {
      const std::string bos = needed_token("bos", "add_bos_token puts it in front of texts");
      single.insert(single.begin(), bos);
      pair = {bos, "A", bos + ":1", "B:1"};
    }
    if (metadata.flag_or(kAddEos, false)) {
      const std::string eos = needed_token("eos", "add_eos_token puts it behind texts");
      single.push_back(eos);
      pair.insert(std::ranges::find(pair, "A") + 1, eos);
      pair.push_back(eos + ":1");
    }
    if (single.size() == 1) return std::nullopt;
    return template_of(json, single, pair, source());
  }
};

Json typed(const char* type) { return {{"type", type}}; }
Json sequence(const char* name, std::vector<Json> steps) { return {{"type", "Sequence"}, {name, std::move(steps)}}; }
Json replace(const char* pattern, const char* content) {
  return {{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
}
Json byte_level(bool prefix, bool splits) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}, {"use_regex", splits}};
}

// How a byte-level tokenizer splits texts, by the name of llama.cpp.
struct Pre {
  std::string_view name;
  const char* pattern;  // of split_patterns.h
  bool digits = false;  // each digit alone, before anything else
  bool nfc = false;
  bool takes_words_whole = false;  // a word that is a token is not merged from its characters
  bool adds_bos = false;           // where the file does not say
};
constexpr Pre kPres[] = {
    {"gpt-2", "gpt2"},
    {"phi-2", "gpt2"},
    {"olmo", "gpt2", false, true},
    {"smollm", "gpt2", true},
    {"starcoder", "gpt2", true},
    {"refact", "gpt2", true},
    {"qwen2", "qwen2", false, true},
    {"deepseek-r1-qwen", "qwen2", false, true},
    {"llama-bpe", "llama3", false, false, true, true},
    {"llama3", "llama3", false, false, true, true},
    {"llama-v3", "llama3", false, false, true, true},
};

const Pre& pre_of(const GgufMetadata& metadata) {
  const std::string name = metadata.text(kPre);
  const auto found = std::ranges::find(kPres, name, &Pre::name);
  if (found != std::end(kPres)) return *found;
  std::vector<std::string> known;
  for (const Pre& each : kPres) known.emplace_back(each.name);
  fail(
      "{}: {} is \"{}\", a way to split texts that is not known; known: {}{}. Other tokens would come of a guess: use "
      "the model's folder from Hugging Face, which states it",
      metadata.source(), kPre, name, fmt::join(known, ", "), did_you_mean(name, known));
}

Json pre_tokenizer_of(const Pre& pre, bool prefix) {
  const bool is_gpt2 = pre.pattern == std::string_view("gpt2");
  if (is_gpt2 && !pre.digits) return byte_level(prefix, true);
  if (is_gpt2)
    return sequence("pretokenizers", {Json{{"type", "Digits"}, {"individual_digits", true}}, byte_level(prefix, true)});
  return sequence("pretokenizers", {Json{{"type", "Split"},
                                         {"pattern", {{"Regex", split_pattern_of(pre.pattern)}}},
                                         {"behavior", "Isolated"},
                                         {"invert", false}},
                                    byte_level(prefix, false)});
}

void convert_byte_bpe(Conversion& c) {
  const Pre& pre = pre_of(c.metadata);
  c.read_tokens();
  for (const std::string_view merge : c.metadata.texts(kMerges)) {
    const size_t blank = merge.find(' ', 1);
    if (blank == std::string_view::npos || !is_valid_utf8(merge))
      fail("{}: {} has \"{}\"; expected two texts with a blank between", c.source(), kMerges, merge);
    c.json.merges.add(merge.substr(0, blank), merge.substr(blank + 1));
  }
  Json& root = c.json.root;
  root["model"] = {{"type", "BPE"}, {"ignore_merges", pre.takes_words_whole}};
  if (pre.nfc) root["normalizer"] = typed("NFC");
  root["pre_tokenizer"] = pre_tokenizer_of(pre, c.metadata.flag_or(kPrefix, false));
  root["decoder"] = byte_level(true, true);
  c.put_added({});
  root["post_processor"] = c.ends(pre.adds_bos).value_or(byte_level(true, true));
}

void read_scores(Conversion& c) {
  c.json.scores = c.metadata.numbers(kScores);
  c.check_size(kScores, c.json.scores.size(), true);
  for (size_t i = 0; i < c.json.scores.size(); ++i)
    if (!std::isfinite(c.json.scores[i])) fail("{}: the score of token {} is {}", c.source(), i, c.json.scores[i]);
}

// SentencePiece's byte-pair encoding, as transformers converts a tokenizer.model of Llama.
void convert_sentencepiece_bpe(Conversion& c) {
  for (const char* key : {"tokenizer.ggml.remove_extra_whitespaces", "tokenizer.ggml.precompiled_charsmap"})
    if (c.metadata.has(key) && (std::string_view(key).ends_with("charsmap") || c.metadata.flag(key)))
      fail("{}: {} changes texts in a way that is not followed for tokenizers of \"llama\"", c.source(), key);
  c.read_tokens([&](std::string_view text, bool) {
    constexpr size_t kLongestPiece = 1024;  // as of a tokenizer.model
    if (text.size() > kLongestPiece)
      fail("{}: a token has {} bytes; at most {} are accepted", c.source(), text.size(), kLongestPiece);
    return std::string(text);
  });
  read_scores(c);
  put_merges_of_scores(c.json);
  c.json.scores.clear();
  const std::string unknown = c.needed_token("unknown", "characters without a token become it");
  const bool prefix = c.metadata.flag_or(kPrefix, true);
  Json& root = c.json.root;
  root["model"] = {{"type", "BPE"}, {"unk_token", unknown}, {"fuse_unk", true}, {"byte_fallback", true}};
  std::vector<Json> steps{replace(" ", "▁")}, decoders{replace("▁", " "), typed("ByteFallback"), typed("Fuse")};
  if (prefix) {
    steps.insert(steps.begin(), Json{{"type", "Prepend"}, {"prepend", "▁"}});
    decoders.push_back(Json{{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  root["normalizer"] = sequence("normalizers", std::move(steps));
  root["decoder"] = sequence("decoders", std::move(decoders));
  c.put_added({unknown});
  const std::optional<Json> ends = c.ends(true);
  if (ends) root["post_processor"] = *ends;
}

bool has_capital(std::string_view text) {
  return std::ranges::any_of(text, [](char ch) { return ch >= 'A' && ch <= 'Z'; });
}

// llama.cpp marks the begin of a word, BERT what goes on: "▁play" and "ing" are "play" and "##ing".
std::string bert_token(std::string_view text, bool is_special) {
  constexpr std::string_view kWord = "▁";
  if (is_special || text.empty()) return std::string(text);
  if (text.starts_with(kWord)) return std::string(text.substr(kWord.size()));
  return "##" + std::string(text);
}

void convert_wordpiece(Conversion& c) {
  // [UNK] and [unused1] have other types, but no mark of a word either.
  const auto unknown_id = c.metadata.integer_or("tokenizer.ggml.unknown_token_id", -1);
  int64_t id = 0;
  bool lowercase = true;
  c.read_tokens([&](std::string_view text, bool is_special) {
    const bool is_own = id++ == unknown_id || is_special || (text.starts_with('[') && text.ends_with(']'));
    lowercase &= is_own || !has_capital(text);
    return bert_token(text, is_own);
  });
  const std::string unknown = c.needed_token("unknown", "words without tokens become it"),
                    cls = c.either_token("cls", "bos", "it stands in front of texts"),
                    sep = c.either_token("seperator", "eos", "it stands behind texts");  // spelled so in files
  Json& root = c.json.root;
  root["normalizer"] = {{"type", "BertNormalizer"},
                        {"clean_text", true},
                        {"handle_chinese_chars", true},
                        {"strip_accents", lowercase},
                        {"lowercase", lowercase}};
  root["pre_tokenizer"] = typed("BertPreTokenizer");
  root["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  root["model"] = {{"type", "WordPiece"}, {"unk_token", unknown}};
  c.put_added({unknown, cls, sep});
  root["post_processor"] = template_of(c.json, {cls, "A", sep}, {cls, "A", sep, "B:1", sep + ":1"}, c.source());
}

struct Model {
  std::string_view name;
  void (*convert)(Conversion&);
};
constexpr Model kModels[] = {
    {"gpt2", convert_byte_bpe}, {"llama", convert_sentencepiece_bpe}, {"bert", convert_wordpiece}};

}  // namespace

bool has_gguf_tokenizer(const GgufMetadata& metadata) { return metadata.has(kModel); }

TokenizerJson tokenizer_of_gguf(const GgufMetadata& metadata) {
  const std::string name = metadata.text(kModel);
  const auto model = std::ranges::find(kModels, name, &Model::name);
  if (model == std::end(kModels))
    fail(
        "{}: {} is \"{}\", a kind of tokenizer that is not read from GGUF files; read are: gpt2, llama, bert. The "
        "model's folder from Hugging Face has it in another form",
        metadata.source(), kModel, name);
  Conversion conversion{metadata, {}, {}, {}};
  model->convert(conversion);
  return std::move(conversion.json);
}

}  // namespace hone
