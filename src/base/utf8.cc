#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace hone {
namespace {

// The bytes that may follow a lead byte first, which rule out overlong forms, surrogates and values above U+10FFFF.
struct Sequence {
  int length;  // 0: not a lead byte
  unsigned char low, high;
};
Sequence sequence_of(unsigned char lead) {
  if (lead >= 0xc2 && lead <= 0xdf) return {2, 0x80, 0xbf};
  if (lead == 0xe0) return {3, 0xa0, 0xbf};
  if (lead == 0xed) return {3, 0x80, 0x9f};
  if (lead >= 0xe1 && lead <= 0xef) return {3, 0x80, 0xbf};
  if (lead == 0xf0) return {4, 0x90, 0xbf};
  if (lead >= 0xf1 && lead <= 0xf3) return {4, 0x80, 0xbf};
  if (lead == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

// Length of the ASCII that a text begins with, in steps of eight bytes.
size_t ascii_prefix(std::string_view text) {
  size_t n = 0;
  for (uint64_t word; n + sizeof(word) <= text.size(); n += sizeof(word)) {
    std::memcpy(&word, text.data() + n, sizeof(word));
    if (word & 0x8080808080808080) break;
  }
  return n;
}

}  // namespace

Utf8Part first_utf8_part(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1, true};
  const Sequence sequence = sequence_of(byte(0));
  if (sequence.length == 0) return {0xfffd, 1, false};
  char32_t c = byte(0) & (0x7f >> sequence.length);
  unsigned char low = sequence.low, high = sequence.high;
  for (size_t i = 1; i < static_cast<size_t>(sequence.length); ++i, low = 0x80, high = 0xbf) {
    if (i >= text.size() || byte(i) < low || byte(i) > high) return {0xfffd, i, false};
    c = c << 6 | (byte(i) & 0x3f);
  }
  return {c, static_cast<size_t>(sequence.length), true};
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Part one = first_utf8_part(text);
    out += one.c;
    text.remove_prefix(one.bytes);
  }
  return out;
}

void append_utf8(std::string& out, char32_t c) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | c >> 18);
    tail(12), tail(6), tail(0);
  }
}

bool is_valid_utf8(std::string_view text) {
  for (;;) {
    text.remove_prefix(ascii_prefix(text));
    if (text.empty()) return true;
    const Utf8Part one = first_utf8_part(text);
    if (!one.valid) return false;
    text.remove_prefix(one.bytes);
  }
}

}  // namespace hone
