#include "base/printable.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace hone {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Length of the UTF-8 sequence that `text` starts with; 0: none that is valid.
size_t sequence_length(std::string_view text) {
  size_t length = 1;
  while (length < text.size() && length < 4 && is_continuation(text[length])) ++length;
  for (; length > 0; --length)
    if (is_valid_utf8(text.substr(0, length)) && decode_utf8(text.substr(0, length)).size() == 1) return length;
  return 0;
}

template <class Escape>
std::string escaped(std::string_view text, Escape&& escape) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    if (byte >= 0x20 && byte < 0x7f) {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    const size_t length = sequence_length(text);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", byte);
      text.remove_prefix(1);
      continue;
    }
    const char32_t c = decode_utf8(text.substr(0, length))[0];
    if (is_shown(c)) out += text.substr(0, length);
    else out += escape(static_cast<uint32_t>(c));
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

bool is_shown(char32_t c) {
  if (c < 0x20) return c == U'\n' || c == U'\t';
  if (c < 0x7f) return true;
  if (c < 0xa0) return false;
  return c != 0x61c && c != 0x200e && c != 0x200f && !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069);
}

std::string printable(std::string_view text) {
  return escaped(text,
                 [](uint32_t c) { return c < 0x100 ? fmt::format("\\x{:02x}", c) : fmt::format("\\u{:04x}", c); });
}

std::string printable_json(std::string_view json) {
  return escaped(json, [](uint32_t c) { return fmt::format("\\u{:04x}", c); });
}

std::string shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t head = most * 2 / 3, tail = text.size() - (most - head);
  while (head > 0 && is_continuation(text[head])) --head;
  while (tail < text.size() && is_continuation(text[tail])) ++tail;
  return fmt::format("{}[... {} bytes ...]{}", text.substr(0, head), tail - head, text.substr(tail));
}

std::string printable_message(std::string_view text) {
  constexpr size_t kLine = 800, kLongest = 900, kAll = 16000;
  std::string out;
  while (out.size() < kAll) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    std::string shown = printable(shortened(line, kLine));
    if (shown.size() > kLongest) shown = printable(shortened(line, kLine / 4));  // an escaped byte takes four
    out += shown;
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out + fmt::format("[... {} bytes more]", text.size());
}

}  // namespace hone
