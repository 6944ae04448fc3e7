// What several normalizers and pre-tokenizers do to an aligned text.
#pragma once

#include <string_view>

#include "base/utf8.h"
#include "tokenizers/aligned_text.h"

namespace hone {

inline constexpr size_t kLongestContent = 1024;  // bytes that a file may put in the place of one character
inline constexpr char32_t kRemoved = 0xffffffff;

// Every character becomes to(character), or goes where that is kRemoved.
template <class To>
void map_characters(AlignedText& text, To to) {
  const std::string_view source = text.text;
  Rewriter out(text);
  for (size_t at = 0; at < source.size();) {
    const char32_t c = next_code_point(source, at);
    const char32_t changed = to(c);
    if (changed == c) out.copy(at - out.at());
    else if (changed == kRemoved) out.skip(1);
    else out.put(changed, 0);
  }
  out.finish();
}

void lowercase(AlignedText& text);  // each character by itself

// In front of a text that is not empty; its origin is that of the first character.
void prepend(AlignedText& text, std::string_view what);

}  // namespace hone
