#include "data/bert_normalizer.h"

#include <algorithm>

#include "data/unicode.h"

namespace hone {
namespace {

void clean(std::u32string& text) {
  std::erase_if(text, is_removed_by_cleaning);
  std::replace_if(text.begin(), text.end(), is_whitespace, U' ');
}

std::u32string space_chinese_characters(std::u32string_view text) {
  std::u32string out;
  out.reserve(text.size() * 3);
  for (char32_t c : text) {
    if (is_chinese_character(c)) out += {U' ', c, U' '};
    else out += c;
  }
  return out;
}

std::u32string lowercase(std::u32string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (char32_t c : text) append_lowercase(out, c);
  return out;
}

}  // namespace

std::u32string normalise(const NormalizerSpec& spec, std::u32string text) {
  const bool ascii = std::all_of(text.begin(), text.end(), [](char32_t c) { return c < 0x80; });
  if (spec.clean_text) clean(text);
  if (!ascii && spec.handle_chinese_chars) text = space_chinese_characters(text);
  if (!ascii && spec.strip_accents) {
    text = canonical_decomposition(text);
    std::erase_if(text, is_nonspacing_mark);
  }
  if (spec.lowercase) text = lowercase(text);
  return text;
}

}  // namespace hone
