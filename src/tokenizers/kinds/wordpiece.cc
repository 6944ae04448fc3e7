// WordPiece: each word is covered greedily by the longest vocabulary entries. BERT, DistilBERT, ELECTRA, MPNet.
#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizers/converted_parts.h"
#include "tokenizers/json_parts.h"
#include "tokenizers/tokenizer_def.h"

namespace hone {
namespace {

class WordPiece final : public TokenModel {
 public:
  WordPiece(const TokenizerJson& json, const std::string& source) : vocabulary_(json.vocabulary) {
    const Json& model = member(json.root, "model");
    check_keys(model, {{"type"}, {"vocab"}, {"unk_token"}, {"continuing_subword_prefix"}, {"max_input_chars_per_word"}},
               source);
    prefix_ = get_or<std::string>(model, "continuing_subword_prefix", "##", source);
    const auto most = get_or<int64_t>(model, "max_input_chars_per_word", 100, source);
    constexpr int64_t kMostCharacters = 1000;  // the time for a word grows with the square
    if (most < 1 || most > kMostCharacters)
      fail("{}: max_input_chars_per_word is {}; accepted: 1 to {}", source, most, kMostCharacters);
    most_characters_ = static_cast<size_t>(most);
    const auto unknown = get_or<std::string>(model, "unk_token", "[UNK]", source);
    if (vocabulary_->size() == 0) fail("{}: the vocabulary is empty or missing", source);
    const int64_t id = vocabulary_->find(unknown);
    if (id == Vocabulary::kAbsent) fail("{}: unk_token \"{}\" is not in the vocabulary", source, unknown);
    unknown_ = static_cast<int32_t>(id);
  }

  // Longest match first, from the left; a word with any part that matches nothing is unknown as a whole.
  void tokenize(std::string_view word, std::vector<PieceToken>& out) const override {
    const auto size = static_cast<uint32_t>(word.size());
    const size_t before = out.size();
    const auto refuse = [&] {
      out.resize(before);
      out.push_back({unknown_, 0, size});
    };
    size_t characters = 0;
    for (size_t at = 0; at < word.size(); at += utf8_length(word[at])) ++characters;
    if (characters > most_characters_) return refuse();
    for (uint32_t at = 0; at < size;) {
      const Vocabulary::Match match = vocabulary_->longest(at == 0 ? "" : prefix_, word.substr(at));
      if (match.bytes == 0) return refuse();
      const uint32_t end = at + static_cast<uint32_t>(match.bytes);
      out.push_back({static_cast<int32_t>(match.id), at, end});
      at = end;
    }
  }

 private:
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::string prefix_;
  size_t most_characters_ = 0;
  int32_t unknown_ = 0;
};

// One token a line, id = line number from 0.
void read_lines(std::string_view text, Vocabulary& vocabulary, const std::string& source) {
  if (!is_valid_utf8(text)) fail("{}: not valid UTF-8; expected one token a line", source);
  for (int64_t line = 0; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    std::string_view token = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (token.ends_with('\r')) token.remove_suffix(1);
    if (!token.empty() && !vocabulary.add(token, line))
      fail("{}:{}: token \"{}\" is also in line {}", source, line + 1, token, vocabulary.find(token) + 1);
  }
}

TokenizerJson convert(const NamedFiles& files, const TokenizerSettings& settings, const std::string& source) {
  constexpr const char* kClasses[] = {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer",
                                      "MPNetTokenizer"};
  if (!settings.tokenizer_class.empty() && std::ranges::find(kClasses, settings.tokenizer_class) == std::end(kClasses))
    refuse_class(settings, kClasses, source);
  refuse_other_flags(settings, {}, source);
  TokenizerJson json;
  read_lines(files.at(kVocabTxt), *json.vocabulary, source);
  const bool mpnet = settings.tokenizer_class == "MPNetTokenizer";
  const AddedToken unk = special_token(settings, "unk_token", "[UNK]"),
                   cls = special_token(settings, "cls_token", mpnet ? "<s>" : "[CLS]"),
                   sep = special_token(settings, "sep_token", mpnet ? "</s>" : "[SEP]"),
                   pad = special_token(settings, "pad_token", mpnet ? "<pad>" : "[PAD]");
  AddedToken mask = special_token(settings, "mask_token", mpnet ? "<mask>" : "[MASK]");
  mask.lstrip = mask.lstrip || mpnet;
  const bool lowercase = settings.lowercase.value_or(true);
  json.root = {{"normalizer",
                {{"type", "BertNormalizer"},
                 {"clean_text", true},
                 {"handle_chinese_chars", settings.handle_chinese_chars.value_or(true)},
                 {"strip_accents", settings.strip_accents.value_or(lowercase)},
                 {"lowercase", lowercase}}},
               {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
               {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
               {"model", {{"type", "WordPiece"}, {"unk_token", unk.text}}}};
  put_added_tokens(json, {pad, unk, cls, sep, mask}, settings, source);
  for (const AddedToken& token : {unk, cls, sep})
    if (id_of(json, token.text) == Vocabulary::kAbsent)
      fail("{}: token {} is missing; expected the vocabulary of a BERT model, one token a line", source, token.text);
  const std::string &c = cls.text, &s = sep.text;
  json.root["post_processor"] = template_of(json, {c, "A", s},
                                            mpnet ? std::vector{c, std::string("A"), s, s, std::string("B:1"), s + ":1"}
                                                  : std::vector{c, std::string("A"), s, std::string("B:1"), s + ":1"},
                                            source);
  return json;
}

}  // namespace

extern constinit const TokenizerDef wordpiece_def{
    .name = "wordpiece",
    .doc = "words covered by the longest entries of a vocabulary (BERT, DistilBERT, ELECTRA, MPNet)",
    .recognises =
        [](const Json& root) {
          const Json& model = member(root, "model");
          const Json& type = member(model, "type");
          return type.is_null() ? model.is_object() && model.contains("max_input_chars_per_word") : type == "WordPiece";
        },
    .read = [](const TokenizerJson& json, const std::string& source) -> std::shared_ptr<const TokenModel> {
      return std::make_shared<WordPiece>(json, source + ": model");
    },
    .reads = [](const NamedFiles& files) { return files.contains(kVocabTxt); },
    .convert = convert};

}  // namespace hone
