#include "tokenizers/sentencepiece_files.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/base64.h"
#include "base/error.h"
#include "base/stop.h"
#include "base/utf8.h"
#include "tokenizers/converted_parts.h"
#include "tokenizers/sentencepiece_model.h"

namespace hone {
namespace {

using Piece = SentencePieceModel::Piece;
using Type = SentencePieceModel::Type;

// What is put together: the model of the file, and the tokenizer.json that grows.
struct Conversion {
  const SentencePieceModel& model;
  TokenizerSettings settings;
  const std::string& source;
  TokenizerJson json;

  void add(const std::string& text, double score) {
    const auto id = std::ssize(json.scores);
    if (!std::isfinite(score)) fail("{}: the score of piece {}, \"{}\", is {}", source, id, text, score);
    if (!json.vocabulary->add(text, id)) fail("{}: piece {}, \"{}\", is there twice", source, id, text);
    json.scores.push_back(score);
  }
  void add_pieces(size_t from) {
    for (size_t i = from; i < model.pieces.size(); ++i) add(model.pieces[i].text, model.pieces[i].score);
  }
  AddedToken special(const char* key, const char* usual) const { return special_token(settings, key, usual); }

  // A token of no piece, with the id behind all others.
  void put_behind(AddedToken token) {
    token.id = json.vocabulary->largest_id() + 1;
    for (const AddedToken& other : settings.added) token.id = std::max(token.id, other.id + 1);
    settings.added.push_back(std::move(token));
  }
  // Pieces that are cut out of texts are added tokens, as are those of the class and of the settings.
  void put_added(const std::vector<AddedToken>& specials) {
    std::vector<AddedToken> tokens;
    for (const Piece& piece : model.pieces)
      if (piece.type == Type::control || piece.type == Type::user_defined)
        if (!piece.text.empty()) tokens.push_back({.text = piece.text, .special = piece.type == Type::control});
    tokens.insert(tokens.end(), specials.begin(), specials.end());
    put_added_tokens(json, tokens, settings, source);
  }
};

Json replace(const char* kind, const char* pattern, const char* content) {
  return {{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", content}};
}
Json typed(const char* type) { return {{"type", type}}; }
Json strip(bool left, bool right) { return {{"type", "Strip"}, {"strip_left", left}, {"strip_right", right}}; }
Json metaspace(const char* scheme, bool splits) {
  return {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", scheme}, {"split", splits}};
}
Json sequence(const char* name, std::vector<Json> steps) { return {{"type", "Sequence"}, {name, std::move(steps)}}; }

void put_charsmap(const SentencePieceModel& model, std::vector<Json>& steps) {
  if (!model.charsmap.empty())
    steps.push_back(Json{{"type", "Precompiled"}, {"precompiled_charsmap", to_base64(model.charsmap)}});
}

void put_unigram(Conversion& c, int64_t unknown, std::vector<Json> normalizers) {
  c.json.root["normalizer"] = sequence("normalizers", std::move(normalizers));
  const char* scheme = c.settings.add_prefix_space.value_or(true) ? "always" : "never";
  c.json.root["pre_tokenizer"] = metaspace(scheme, true);
  c.json.root["decoder"] = metaspace(scheme, true);
  // Whatever the file says: transformers follows it in Llama's class alone, whose characters without a token are bytes.
  c.json.root["model"] = {{"type", "Unigram"}, {"unk_id", unknown}, {"byte_fallback", false}};
}

// The charsmap, and the rules for blanks that classes without rules of their own have.
std::vector<Json> usual_normalizers(const SentencePieceModel& model) {
  std::vector<Json> steps;
  put_charsmap(model, steps);
  steps.push_back(strip(false, true));
  steps.push_back(replace("Regex", " {2,}", "▁"));
  return steps;
}

// <s> A </s>, and <s> A </s> </s> B </s>.
void put_roberta_ends(Conversion& c) {
  AddedToken mask = c.special("mask_token", "<mask>");
  mask.lstrip = true;
  const AddedToken bos = c.special("bos_token", "<s>"), eos = c.special("eos_token", "</s>");
  c.put_added({bos, c.special("pad_token", "<pad>"), eos, c.special("unk_token", "<unk>"), mask});
  c.json.root["post_processor"] =
      template_of(c.json, {bos.text, "A", eos.text}, {bos.text, "A", eos.text, eos.text, "B", eos.text}, c.source);
}

// fairseq's vocabularies: four tokens of their own, then the file's pieces without its first three.
void convert_xlm_roberta(Conversion& c) {
  for (const char* own : {"<s>", "<pad>", "</s>", "<unk>"}) c.add(own, 0);
  c.add_pieces(3);
  c.add("<mask>", 0);
  put_unigram(c, 3, usual_normalizers(c.model));
  put_roberta_ends(c);
}

// As XLM-R's, but with a piece of the file for each of the own tokens.
void convert_camembert(Conversion& c) {
  for (const char* own : {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>"}) c.add(own, 0);
  c.add("<unk>NOTUSED", -100);
  c.add_pieces(1);
  c.add("<mask>", 0);
  put_unigram(c, 3, usual_normalizers(c.model));
  put_roberta_ends(c);
}

// [CLS] A [SEP], and [CLS] A [SEP] B [SEP].
void put_bert_ends(Conversion& c, const AddedToken& pad, const AddedToken& unk, const AddedToken& mask) {
  const AddedToken cls = c.special("cls_token", "[CLS]"), sep = c.special("sep_token", "[SEP]");
  c.put_added({pad, unk, cls, sep, mask});
  c.json.root["post_processor"] =
      template_of(c.json, {cls.text, "A", sep.text}, {cls.text, "A", sep.text, "B:1", sep.text + ":1"}, c.source);
}

// "9," is no piece of its own.
bool ends_in_number_comma(std::string_view piece) {
  return piece.size() >= 2 && piece.back() == ',' && piece[piece.size() - 2] >= '0' && piece[piece.size() - 2] <= '9';
}

void convert_albert(Conversion& c) {
  for (const Piece& piece : c.model.pieces)
    c.add(piece.text, ends_in_number_comma(piece.text) ? piece.score - 100.0 : piece.score);
  std::vector<Json> steps{replace("String", "``", "\""), replace("String", "''", "\"")};
  if (!c.settings.keep_accents.value_or(false)) steps.push_back(typed("NFKD")), steps.push_back(typed("StripAccents"));
  if (c.settings.lowercase.value_or(true)) steps.push_back(typed("Lowercase"));
  put_charsmap(c.model, steps);
  steps.push_back(replace("Regex", " {2,}", " "));
  put_unigram(c, c.model.unknown_id, std::move(steps));
  AddedToken mask = c.special("mask_token", "[MASK]");
  mask.lstrip = true;
  put_bert_ends(c, c.special("pad_token", "<pad>"), c.special("unk_token", "<unk>"), mask);
}

void convert_deberta_v2(Conversion& c) {
  c.add_pieces(0);
  std::vector<Json> steps;
  if (c.settings.lowercase.value_or(false)) steps.push_back(typed("Lowercase"));
  steps.push_back(strip(true, true));
  put_charsmap(c.model, steps);
  steps.push_back(replace("Regex", " {2,}", " "));
  put_unigram(c, c.model.unknown_id, std::move(steps));
  if (c.settings.split_by_punct.value_or(false))
    c.json.root["pre_tokenizer"] = sequence(
        "pretokenizers", {Json{{"type", "Punctuation"}, {"behavior", "Isolated"}}, c.json.root["pre_tokenizer"]});
  const AddedToken mask = c.special("mask_token", "[MASK]");
  const bool is_listed = std::ranges::find(c.settings.added, mask.text, &AddedToken::text) != c.settings.added.end();
  if (c.json.vocabulary->find(mask.text) < 0 && !is_listed) c.put_behind(mask);  // few files have it
  put_bert_ends(c, c.special("pad_token", "[PAD]"), c.special("unk_token", "[UNK]"), mask);
}

void convert_t5(Conversion& c) {
  c.add_pieces(0);
  constexpr int64_t kMostExtra = 10000;
  const int64_t extra = c.settings.extra_ids.value_or(100);
  if (extra < 0 || extra > kMostExtra) fail("{}: extra_ids is {}; accepted: 0 to {}", c.source, extra, kMostExtra);
  std::vector<AddedToken> specials{c.special("pad_token", "<pad>"), c.special("eos_token", "</s>"),
                                   c.special("unk_token", "<unk>")};
  for (int64_t i = extra; i-- > 0;) {
    c.add(fmt::format("<extra_id_{}>", i), 0);
    specials.push_back({.text = fmt::format("<extra_id_{}>", i), .special = true});
  }
  put_unigram(c, c.model.unknown_id, usual_normalizers(c.model));
  c.put_added(specials);
  const std::string eos = specials[1].text;
  c.json.root["post_processor"] = template_of(c.json, {"A", eos}, {"A", eos, "B", eos}, c.source);
}

void convert_llama(Conversion& c) {
  c.add_pieces(0);
  put_merges_of_scores(c.json);
  c.json.scores.clear();
  const AddedToken unk = c.special("unk_token", "<unk>"), bos = c.special("bos_token", "<s>"),
                   eos = c.special("eos_token", "</s>");
  c.json.root["model"] = {{"type", "BPE"}, {"unk_token", unk.text}, {"fuse_unk", true}, {"byte_fallback", true}};
  const bool prefix = c.settings.add_prefix_space.value_or(true);
  if (c.settings.legacy.value_or(true)) {
    std::vector<Json> steps{replace("String", " ", "▁")};
    if (prefix) steps.insert(steps.begin(), Json{{"type", "Prepend"}, {"prepend", "▁"}});
    c.json.root["normalizer"] = sequence("normalizers", std::move(steps));
  } else {
    c.json.root["pre_tokenizer"] = metaspace(prefix ? "first" : "never", false);
  }
  std::vector<Json> decoders{replace("String", "▁", " "), typed("ByteFallback"), typed("Fuse")};
  if (prefix) decoders.push_back(Json{{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  c.json.root["decoder"] = sequence("decoders", std::move(decoders));
  c.put_added({unk, bos, eos});
  std::vector<std::string> single{"A"}, pair{"A", "B:1"};
  if (c.settings.add_bos.value_or(true)) single = {bos.text, "A"}, pair = {bos.text, "A", bos.text + ":1", "B:1"};
  if (c.settings.add_eos.value_or(false)) {
    single.push_back(eos.text);
    pair.insert(std::ranges::find(pair, "A") + 1, eos.text);
    pair.push_back(eos.text + ":1");
  }
  c.json.root["post_processor"] = template_of(c.json, single, pair, c.source);
}

enum class Kind { unigram = 1, bpe = 2 };  // as the file numbers them

struct Family {
  const char* name;  // tokenizer_class
  Kind kind;
  void (*convert)(Conversion&);
  std::span<const std::string_view> flags;  // that it follows
};
constexpr std::string_view kPlain[] = {"add_prefix_space"}, kAlbert[] = {"add_prefix_space", "keep_accents"},
                           kDeberta[] = {"add_prefix_space", "split_by_punct"},
                           kLlama[] = {"add_prefix_space", "add_bos_token", "add_eos_token"};
constexpr Family kFamilies[] = {{"XLMRobertaTokenizer", Kind::unigram, convert_xlm_roberta, kPlain},
                                {"CamembertTokenizer", Kind::unigram, convert_camembert, kPlain},
                                {"AlbertTokenizer", Kind::unigram, convert_albert, kAlbert},
                                {"DebertaV2Tokenizer", Kind::unigram, convert_deberta_v2, kDeberta},
                                {"T5Tokenizer", Kind::unigram, convert_t5, kPlain},
                                {"LlamaTokenizer", Kind::bpe, convert_llama, kLlama}};

const std::string* model_file(const NamedFiles& files) {
  for (const char* name : kSentencePieceModels)
    if (const auto found = files.find(name); found != files.end()) return &found->second;
  return nullptr;
}

}  // namespace

bool has_sentencepiece(const NamedFiles& files) { return model_file(files) != nullptr; }

TokenizerJson convert_sentencepiece(const NamedFiles& files, const TokenizerSettings& settings,
                                    const std::string& source) {
  const SentencePieceModel model = read_sentencepiece(*model_file(files), source);
  const auto family = std::ranges::find_if(kFamilies, [&](const Family& f) {
    return settings.tokenizer_class == f.name && static_cast<int64_t>(f.kind) == model.model_type;
  });
  if (family == std::end(kFamilies)) {
    std::vector<const char*> known;
    for (const Family& each : kFamilies)
      if (static_cast<int64_t>(each.kind) == model.model_type) known.push_back(each.name);
    refuse_class(settings, known, source);
  }
  refuse_other_flags(settings, family->flags, source);
  Conversion conversion{model, settings, source, {}};
  family->convert(conversion);
  return std::move(conversion.json);
}

}  // namespace hone
