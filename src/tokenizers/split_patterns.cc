#include "tokenizers/split_patterns.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizers/unicode.h"

namespace hone {
namespace {

using enum CharClass;

// The class of the character at `at`, which moves behind it.
CharClass next_class(std::string_view text, size_t& at) { return class_of(next_code_point(text, at)); }

// The end of the run of characters whose class belongs, of at most so many.
template <class Belongs>
size_t run(std::string_view text, size_t at, Belongs belongs, size_t most = static_cast<size_t>(-1)) {
  for (size_t next = at; at < text.size() && most > 0; at = next, --most)
    if (!belongs(next_class(text, next))) break;
  return at;
}

bool is_number(CharClass c) { return c == number; }
bool is_space(CharClass c) { return c == space; }
// [^\s\p{L}\p{N}]
bool is_symbol(CharClass c) { return c == mark || c == other; }

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

// 's|'t|'re|'ve|'m|'ll|'d; with (?i:) in any case, and U+017F is a small s.
size_t contraction(std::string_view text, size_t at, bool any_case) {
  if (at + 1 >= text.size() || text[at] != '\'') return at;
  const auto letter = [&](size_t i) { return i >= text.size() ? '\0' : any_case ? lowered(text[i]) : text[i]; };
  const char first = letter(at + 1), second = letter(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l'))
    return at + 3;
  return any_case && text.substr(at + 1).starts_with("\u017f") ? at + 3 : at;
}

// \s+(?!\S)|\s+ : white space, but for the last character of it where something follows.
size_t spaces(std::string_view text, size_t at) {
  size_t last = at, end = at;  // of the run's last character; behind it
  for (size_t next = at; next < text.size() && next_class(text, next) == space; end = next) last = end;
  return end < text.size() && last > at ? last : end;
}

bool is_newline(char c) { return c == '\r' || c == '\n'; }

// \s*[\r\n]+ : white space up to its last newline.
size_t lines(std::string_view text, size_t at) {
  size_t end = run(text, at, is_space);
  while (end > at && !is_newline(text[end - 1])) --end;
  return end;
}

//  ?[^\s\p{L}\p{N}]+ and then any of `behind`.
size_t symbols(std::string_view text, size_t at, std::string_view behind) {
  const size_t begin = text[at] == ' ' ? at + 1 : at;
  size_t end = run(text, begin, is_symbol);
  if (end == begin) return at;
  while (end < text.size() && behind.find(text[end]) != std::string_view::npos) ++end;
  return end;
}

// [^\r\n\p{L}\p{N}]? : the end of one such character, or `at`.
size_t lead(std::string_view text, size_t at) {
  size_t end = at;
  const CharClass c = next_class(text, end);
  return is_letter(c) || c == number || is_newline(text[at]) ? at : end;
}

// [^\r\n\p{L}\p{N}]?\p{L}+
size_t led_letters(std::string_view text, size_t at) {
  const size_t begin = lead(text, at), end = run(text, begin, is_letter);
  return end == begin ? at : end;
}

template <size_t kDigits>
size_t match_cl100k(std::string_view text, size_t at) {
  if (const size_t end = contraction(text, at, true); end > at) return end;
  if (const size_t end = led_letters(text, at); end > at) return end;
  if (const size_t end = run(text, at, is_number, kDigits); end > at) return end;
  if (const size_t end = symbols(text, at, "\r\n"); end > at) return end;
  if (const size_t end = lines(text, at); end > at) return end;
  return spaces(text, at);
}

bool is_capital(CharClass c) { return c == upper || c == caseless || c == mark; }  // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
bool is_small(CharClass c) { return c == lower || c == caseless || c == mark; }    // [\p{Ll}\p{Lm}\p{Lo}\p{M}]

// [capital]*[small]+ : small letters behind capitals, or, as a regular expression goes back, from the last capital that
// is small, too.
size_t capitalised(std::string_view text, size_t at) {
  const size_t capitals = run(text, at, is_capital);
  if (const size_t end = run(text, capitals, is_small); end > capitals) return end;
  size_t found = at;
  for (size_t i = at; i < capitals;)
    if (is_small(next_class(text, i))) found = i;
  return found;
}

// [capital]+[small]*
size_t capitals_first(std::string_view text, size_t at) {
  const size_t capitals = run(text, at, is_capital);
  return capitals == at ? at : run(text, capitals, is_small);
}

size_t match_o200k(std::string_view text, size_t at) {
  const size_t behind = lead(text, at);
  for (const auto word : {capitalised, capitals_first})
    for (const size_t begin : {behind, at})
      if (const size_t end = word(text, begin); end > begin) return contraction(text, end, true);
  if (const size_t end = run(text, at, is_number, 3); end > at) return end;
  if (const size_t end = symbols(text, at, "\r\n/"); end > at) return end;
  if (const size_t end = lines(text, at); end > at) return end;
  return spaces(text, at);
}

size_t match_clip(std::string_view text, size_t at) {
  if (const size_t end = contraction(text, at, false); end > at) return end;
  if (const size_t end = run(text, at, is_letter); end > at) return end;
  if (const size_t end = run(text, at, is_number, 1); end > at) return end;
  return run(text, at, is_symbol);
}

#define HONE_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define HONE_CL100K(digits)                                          \
  HONE_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits         \
                    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|" \
                    "\\s+(?!\\S)|\\s+"

constexpr SplitPattern kPatterns[] = {
    {"gpt2", "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", match_gpt2},
    {"llama3", HONE_CL100K("\\p{N}{1,3}"), match_cl100k<3>},
    {"qwen2", HONE_CL100K("\\p{N}"), match_cl100k<1>},
    {"o200k",
     "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+" HONE_CONTRACTIONS
     "?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*" HONE_CONTRACTIONS
     "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     match_o200k},
    {"clip", "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+", match_clip},
};

}  // namespace

const char* const kSplitPatternNames = "those of gpt2, llama3, qwen2, o200k and clip, and runs of blanks or numbers";

size_t match_gpt2(std::string_view text, size_t at) {
  if (const size_t end = contraction(text, at, false); end > at) return end;
  const size_t begin = text[at] == ' ' && at + 1 < text.size() ? at + 1 : at;
  size_t next = begin;
  const CharClass c = next_class(text, next);
  if (is_letter(c)) return run(text, next, is_letter);
  if (c == number) return run(text, next, is_number);
  if (c != space) return run(text, next, is_symbol);
  return spaces(text, at);
}

const char* split_pattern_of(std::string_view name) {
  const auto found = std::ranges::find(kPatterns, name, [](const SplitPattern& p) { return std::string_view(p.name); });
  CHECK(found != std::end(kPatterns));
  return found->pattern;
}

const SplitPattern* find_split_pattern(std::string_view pattern) {
  const auto found =
      std::ranges::find(kPatterns, pattern, [](const SplitPattern& p) { return std::string_view(p.pattern); });
  return found == std::end(kPatterns) ? nullptr : found;
}

}  // namespace hone
