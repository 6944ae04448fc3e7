// Properties of code points as the Hugging Face `tokenizers` library sees them, so that our tokens are its tokens.
// utf8proc has the tables. That library was built from tables of several versions of Unicode: 8 for BERT's categories,
// 9 and 11 for normal forms and accents, 16 for the classes of patterns, 17 for numbers. unicode.cc holds the
// difference.
#pragma once

#include <cstdint>
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

bool is_combining_mark(char32_t c);  // category M: what StripAccents drops
bool is_numeric(char32_t c);         // category N
bool is_word_character(char32_t c);  // \w: letters, marks, decimal digits, numbers that are letters, connectors

// What patterns tell apart: the classes that \s, \p{L} and its parts, \p{N} and \p{M} are made of.
enum class CharClass : uint8_t { space, upper, lower, caseless, mark, number, other };
CharClass class_of(char32_t c);  // upper: Lu and Lt; caseless: Lm and Lo
inline bool is_letter(CharClass c) { return c >= CharClass::upper && c <= CharClass::caseless; }

void append_lowercase(std::u32string& out, char32_t c);  // full mapping without context: U+0130 gives two code points
std::u32string canonical_decomposition(std::u32string_view text);  // NFD

int combining_class(char32_t c);
// The full decomposition of a character, canonical or by compatibility: itself where it has none.
void append_decomposition(std::u32string& out, char32_t c, bool compatibility);
// The character that two are composed to, 0 when there is none.
char32_t composition(char32_t first, char32_t second);
// It neither decomposes, nor composes with a neighbour, nor changes its place in any normal form.
bool is_inert(char32_t c);
// Whether a grapheme cluster ends between two characters; `state` is 0 at the begin of a text.
bool is_grapheme_break(char32_t first, char32_t second, int& state);

}  // namespace hone
