// UTF-8: bytes to code points and back.
#pragma once

#include <string>
#include <string_view>

namespace hone {

// Decodes UTF-8. Each maximal part of a sequence that can't be completed becomes U+FFFD (Unicode 15, section 3.9;
// Python's errors="replace"): surrogates, overlong forms and values above U+10FFFF are invalid.
std::u32string decode_utf8(std::string_view text);
void append_utf8(std::string& out, char32_t c);
bool is_valid_utf8(std::string_view text);

}  // namespace hone
