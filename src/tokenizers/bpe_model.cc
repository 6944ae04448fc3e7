#include "tokenizers/bpe_model.h"

#include <algorithm>

#include "base/error.h"
#include "base/stop.h"
#include "tokenizers/json_parts.h"

namespace hone {
namespace {

// Files list the results of merges by id, mostly: then the next result is the next token.
class ResultFinder {
 public:
  explicit ResultFinder(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  int64_t find(std::string_view left, std::string_view right) {
    if (next_ < vocabulary_.size()) {
      const Vocabulary::Entry guess = vocabulary_.entry(next_);
      if (guess.text.size() == left.size() + right.size() && guess.text.starts_with(left) &&
          guess.text.ends_with(right)) {
        ++next_;
        return guess.id;
      }
    }
    const int64_t id = vocabulary_.find(left, right);
    if (static_cast<size_t>(id) < vocabulary_.size() && vocabulary_.entry(static_cast<size_t>(id)).id == id)
      next_ = static_cast<size_t>(id) + 1;
    return id;
  }

 private:
  const Vocabulary& vocabulary_;
  size_t next_ = 0;
};

void read_merges(const TokenizerJson& json, BpeParts& parts, const std::string& source) {
  const Vocabulary& vocabulary = *parts.vocabulary;
  ResultFinder results(vocabulary);
  parts.merges.reserve(json.merges.size());
  for (size_t i = 0; i < json.merges.size(); ++i) {
    check_stop();
    const auto [left, right] = json.merges[i];
    const int64_t a = vocabulary.find(left), b = vocabulary.find(right);
    const bool has_prefix = right.starts_with(parts.prefix);
    const int64_t result = has_prefix ? results.find(left, right.substr(parts.prefix.size())) : Vocabulary::kAbsent;
    if (a < 0 || b < 0 || result < 0) {
      const std::string missing{a < 0 ? left : b < 0 ? right : std::string(left) + std::string(right)};
      fail("{}: merges: number {}, \"{}\" and \"{}\": \"{}\" is no token of the vocabulary", source, i, left, right,
           missing);
    }
    parts.merges.add(static_cast<int32_t>(a), static_cast<int32_t>(b), static_cast<int32_t>(result));
  }
}

// The pre-tokenizer is ByteLevel, or has it among its steps.
bool has_byte_level(const Json& splitter) {
  const Json& steps = member(splitter, "pretokenizers");
  return member(splitter, "type") == "ByteLevel" || (steps.is_array() && std::ranges::any_of(steps, has_byte_level));
}

}  // namespace

BpeParts read_bpe(const TokenizerJson& json, const std::string& source) {
  const Json& model = member(json.root, "model");
  const std::string place = source + ": model";
  check_keys(model,
             {{"type"},
              {"vocab"},
              {"merges"},
              {"dropout", "0.0"},
              {"unk_token"},
              {"continuing_subword_prefix"},
              {"end_of_word_suffix"},
              {"fuse_unk"},
              {"byte_fallback"},
              {"ignore_merges"}},
             place);
  if (json.vocabulary->size() == 0) fail("{}: the vocabulary is empty or missing", place);
  BpeParts parts;
  parts.vocabulary = json.vocabulary;
  parts.prefix = get_or<std::string>(model, "continuing_subword_prefix", "", place);
  parts.suffix = get_or<std::string>(model, "end_of_word_suffix", "", place);
  parts.fuse_unknown = get_or(model, "fuse_unk", false, place);
  parts.byte_fallback = get_or(model, "byte_fallback", false, place);
  parts.ignore_merges = get_or(model, "ignore_merges", false, place);
  if (const auto unknown = get_or<std::string>(model, "unk_token", "", place); !unknown.empty()) {
    parts.unknown = json.vocabulary->find(unknown);
    if (parts.unknown < 0) fail("{}: unk_token \"{}\" is not in the vocabulary", place, unknown);
  }
  read_merges(json, parts, place);
  return parts;
}

bool is_bpe(const Json& root) {
  const Json& model = member(root, "model");
  if (member(model, "type").is_null()) return model.is_object() && model.contains("merges");  // old files
  return member(model, "type") == "BPE";
}

bool is_byte_level(const Json& root) { return has_byte_level(member(root, "pre_tokenizer")); }

}  // namespace hone
