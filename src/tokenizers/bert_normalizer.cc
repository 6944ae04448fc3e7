#include "tokenizers/bert_normalizer.h"

#include <algorithm>

#include "tokenizers/json_parts.h"
#include "tokenizers/normal_form.h"
#include "tokenizers/text_steps.h"
#include "tokenizers/unicode.h"

namespace hone {
namespace {

char32_t cleaned(char32_t c) {
  if (is_removed_by_cleaning(c)) return kRemoved;
  return is_whitespace(c) ? U' ' : c;
}

void space_chinese_characters(AlignedText& text) {
  const std::string_view source = text.text;
  Rewriter out(text);
  for (size_t at = 0; at < source.size();) {
    const size_t begin = at;
    const char32_t c = next_code_point(source, at);
    if (!is_chinese_character(c)) continue;
    out.copy(begin - out.at());
    out.put(U' ', 0);
    out.put(c, 1);
    out.put(U' ', 1);
  }
  out.copy(source.size() - out.at());
  out.finish();
}

}  // namespace

BertNormalizer read_bert_normalizer(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}, {"clean_text"}, {"handle_chinese_chars"}, {"strip_accents"}, {"lowercase"}}, source);
  BertNormalizer steps;
  steps.clean_text = get_or(json, "clean_text", true, source);
  steps.handle_chinese_chars = get_or(json, "handle_chinese_chars", true, source);
  steps.lowercase = get_or(json, "lowercase", true, source);
  steps.strip_accents = get_or(json, "strip_accents", steps.lowercase, source);
  return steps;
}

void normalise(AlignedText& text, const BertNormalizer& steps) {
  if (steps.clean_text) map_characters(text, cleaned);
  const bool ascii = std::ranges::all_of(text.text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!ascii && steps.handle_chinese_chars) space_chinese_characters(text);
  if (!ascii && steps.strip_accents) {
    normalise(text, NormalForm{});
    map_characters(text, [](char32_t c) { return is_nonspacing_mark(c) ? kRemoved : c; });
  }
  if (steps.lowercase) lowercase(text);
}

}  // namespace hone
