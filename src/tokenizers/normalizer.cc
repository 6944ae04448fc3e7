#include "tokenizers/normalizer.h"

#include <algorithm>
#include <vector>

#include <fmt/ranges.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizers/bert_normalizer.h"
#include "tokenizers/charsmap.h"
#include "tokenizers/json_parts.h"
#include "tokenizers/normal_form.h"
#include "tokenizers/runs.h"
#include "tokenizers/text_steps.h"
#include "tokenizers/unicode.h"

namespace hone {
namespace {

// A step that is a function.
template <class Function>
class Step final : public Normalizer {
 public:
  explicit Step(Function function) : function_(std::move(function)) {}
  void apply(AlignedText& text) const override { function_(text); }

 private:
  Function function_;
};
template <class Function>
std::shared_ptr<const Normalizer> step(Function function) {
  return std::make_shared<Step<Function>>(std::move(function));
}

void strip(AlignedText& text, bool left, bool right) {
  const std::string_view source = text.text;
  size_t begin = 0, end = source.size();
  while (left && begin < end) {
    size_t next = begin;
    if (!is_whitespace(next_code_point(source, next))) break;
    begin = next;
  }
  while (right && end > begin) {
    size_t last = end - 1;
    while ((static_cast<unsigned char>(source[last]) & 0xc0) == 0x80) --last;
    size_t at = last;
    if (!is_whitespace(next_code_point(source, at))) break;
    end = last;
  }
  text.text = source.substr(begin, end - begin);
  if (!text.followed) return;
  text.origins.resize(end);
  text.origins.erase(text.origins.begin(), text.origins.begin() + static_cast<int64_t>(begin));
}

// SentencePiece's rules for neural machine translation: control characters go, odd blanks become blanks.
char32_t nmt(char32_t c) {
  if ((c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f) return kRemoved;
  const bool is_blank = c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 || (c >= 0x200b && c <= 0x200f) ||
                        c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
  return is_blank ? U' ' : c;
}

// Each of the runs becomes `content`, which comes from the run's last character.
template <class Find>
void replace(AlignedText& text, std::string_view content, Find find) {
  const std::string_view source = text.text;
  Span at = find(source, 0);
  if (at.begin == at.end) return;
  Rewriter out(text);
  for (; at.begin < at.end; at = find(source, at.end)) {
    out.copy(at.begin - out.at());
    size_t count = 0;
    for (size_t i = at.begin; i < at.end; i += utf8_length(source[i])) ++count;
    out.skip(count);
    out.insert(content);
  }
  out.copy(source.size() - out.at());
  out.finish();
}

// What a file writes into texts, for each of their characters perhaps.
std::string read_content(const Json& json, const char* key, const std::string& source) {
  auto content = json_get<std::string>(json, key, source);
  if (content.size() > kLongestContent)
    fail("{}: {} has {} bytes; at most {} are accepted", source, key, content.size(), kLongestContent);
  return content;
}

std::shared_ptr<const Normalizer> read_replace(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}, {"pattern"}, {"content"}}, source);
  const std::string content = read_content(json, "content", source);
  const auto pattern = json_get<Json>(json, "pattern", source);
  if (!member(pattern, "String").is_null()) {
    const auto text = json_get<std::string>(pattern, "String", source);
    if (text.empty()) fail("{}: the pattern is empty", source);
    return step([text, content](AlignedText& aligned) {
      replace(aligned, content, [&](std::string_view in, size_t from) {
        const size_t at = in.find(text, from);
        return at == std::string_view::npos ? Span{} : Span{at, at + text.size()};
      });
    });
  }
  const RunPattern run = run_pattern(json_get<std::string>(pattern, "Regex", source), source);
  return step([run, content](AlignedText& aligned) {
    replace(aligned, content, [&](std::string_view in, size_t from) { return next_run(run, in, from); });
  });
}

std::shared_ptr<const Normalizer> read_prepend(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}, {"prepend"}}, source);
  return step([text = read_content(json, "prepend", source)](AlignedText& aligned) { prepend(aligned, text); });
}

std::shared_ptr<const Normalizer> read_charsmap(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}, {"precompiled_charsmap"}}, source);
  const std::string place = source + ": precompiled_charsmap";
  const std::string text = get_or<std::string>(json, "precompiled_charsmap", "", source);
  if (text.empty()) return step([](AlignedText&) {});
  const auto bytes = from_base64(text);
  if (!bytes) fail("{}: is no base64", place);
  return step([map = Charsmap(*bytes, place)](AlignedText& aligned) { map.apply(aligned); });
}

std::shared_ptr<const Normalizer> read_sequence(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}, {"normalizers"}}, source);
  std::vector<std::shared_ptr<const Normalizer>> steps;
  for (const Json& each : json_get<Json>(json, "normalizers", source)) steps.push_back(read_normalizer(each, source));
  std::erase(steps, nullptr);
  return step([steps](AlignedText& text) {
    // What one step may make; several could make any size.
    const size_t outer = text.most;
    text.most = std::min(outer, kLongestContent * (text.text.size() + 1));
    for (const auto& each : steps) each->apply(text);
    text.most = outer;
  });
}

using Read = std::shared_ptr<const Normalizer> (*)(const Json&, const std::string&);

template <bool kCompatibility, bool kComposed>
std::shared_ptr<const Normalizer> read_form(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}}, source);
  return step([](AlignedText& text) { normalise(text, NormalForm{kCompatibility, kComposed}); });
}

constexpr std::pair<const char*, Read> kTypes[] = {
    {"Sequence", read_sequence},
    {"BertNormalizer",
     [](const Json& json, const std::string& source) {
       return step([spec = read_bert_normalizer(json, source)](AlignedText& text) { normalise(text, spec); });
     }},
    {"NFC", read_form<false, true>},
    {"NFD", read_form<false, false>},
    {"NFKC", read_form<true, true>},
    {"NFKD", read_form<true, false>},
    {"Lowercase",
     [](const Json& json, const std::string& source) {
       check_keys(json, {{"type"}}, source);
       return step(lowercase);
     }},
    {"Strip",
     [](const Json& json, const std::string& source) {
       check_keys(json, {{"type"}, {"strip_left"}, {"strip_right"}}, source);
       return step([left = get_or(json, "strip_left", true, source), right = get_or(json, "strip_right", true, source)](
                       AlignedText& text) { strip(text, left, right); });
     }},
    {"StripAccents",
     [](const Json& json, const std::string& source) {
       check_keys(json, {{"type"}}, source);
       return step([](AlignedText& text) {
         map_characters(text, [](char32_t c) { return is_combining_mark(c) ? kRemoved : c; });
       });
     }},
    {"Nmt",
     [](const Json& json, const std::string& source) {
       check_keys(json, {{"type"}}, source);
       return step([](AlignedText& text) { map_characters(text, nmt); });
     }},
    {"Replace", read_replace},
    {"Prepend", read_prepend},
    {"Precompiled", read_charsmap},
};

}  // namespace

std::shared_ptr<const Normalizer> read_normalizer(const Json& json, const std::string& source) {
  const std::string type = type_of(json, source);
  if (type.empty()) return nullptr;
  const auto found = std::ranges::find(kTypes, type, [](const auto& entry) { return std::string_view(entry.first); });
  if (found != std::end(kTypes)) return found->second(json, fmt::format("{}: {}", source, type));
  std::vector<std::string> names;
  for (const auto& entry : kTypes) names.emplace_back(entry.first);
  fail("{}: type \"{}\" is not supported; supported: {}", source, type, fmt::join(names, ", "));
}

}  // namespace hone
