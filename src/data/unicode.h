// Properties of code points as the Hugging Face `tokenizers` library sees them, so that our tokens are its tokens.
// utf8proc has the tables; where that library was built from older Unicode tables (its categories are of Unicode 8)
// unicode.cc holds the difference.
#pragma once

#include <string>
#include <string_view>

#include "base/utf8.h"

namespace hone {

bool is_whitespace(char32_t c);           // White_Space
bool is_removed_by_cleaning(char32_t c);  // NUL, U+FFFD, control, format and private use, but not tab, newline, return
bool is_chinese_character(
    char32_t c);                      // the blocks of ideographs that BERT puts spaces around; neither kana nor hangul
bool is_punctuation(char32_t c);      // categories P* and the ASCII symbols
bool is_nonspacing_mark(char32_t c);  // category Mn

void append_lowercase(std::u32string& out, char32_t c);  // full mapping without context: U+0130 gives two code points
std::u32string canonical_decomposition(std::u32string_view text);  // NFD

}  // namespace hone
