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

// The code point that begins at byte `at` of valid UTF-8; `at` moves behind it.
inline char32_t next_code_point(std::string_view valid, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(valid[i]); };
  const unsigned char lead = byte(at++);
  if (lead < 0x80) return lead;
  const auto tail = [&] { return static_cast<char32_t>(byte(at++) & 0x3f); };
  if (lead < 0xe0) return static_cast<char32_t>(lead & 0x1f) << 6 | tail();
  char32_t c = lead < 0xf0 ? lead & 0x0f : lead & 0x07;
  if (lead >= 0xf0) c = c << 6 | tail();
  c = c << 6 | tail();
  return c << 6 | tail();
}

// Bytes of the code point whose first byte is `lead`.
inline size_t utf8_length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

// What decode_utf8 reads first: a code point, or U+FFFD for bytes that are none.
struct Utf8Part {
  char32_t c;
  size_t bytes;
  bool valid;
};
Utf8Part first_utf8_part(std::string_view text);  // of a text that is not empty

}  // namespace hone
