// Text of foreign files and command lines as a terminal may show it. A name of a tensor may hold escape sequences that
// move the cursor, set the title of a window or turn the direction of writing; what leaves the program passes through
// here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hone {

// Whether a terminal shows the character as it is: not the controls (C0 but for \n and \t, DEL, C1), nor the marks that
// turn the direction of writing (U+202A..E, U+2066..9, U+200E, U+200F, U+061C), nor the separators of lines U+2028..9.
bool is_shown(char32_t c);

// What is not shown becomes \x1b or \u202e, and a byte that is no UTF-8 \xff.
std::string printable(std::string_view text);

// The same for JSON, in which such a character can only stand inside a string: \u001b. Not for text that is no UTF-8.
std::string printable_json(std::string_view json);

// At most about `most` bytes: the middle is left out, and how much of it is said. Cuts between characters.
std::string shortened(std::string_view text, size_t most);

// For errors and notes: printable, each line at most 800 bytes and all of them at most 16 kB.
std::string printable_message(std::string_view text);

}  // namespace hone
