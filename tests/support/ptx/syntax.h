// The text of PTX as tokens: words with their dots ("ld.global.v4.u32", "%tid.x", ".reg"), numbers, and single marks.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hone::ptx {

struct Token {
  enum class Is : uint8_t { word, number, text, mark, end } is = Is::end;
  std::string_view text;
  int line = 0;
  bool operator==(char mark) const { return is == Is::mark && text[0] == mark; }
};

// Without comments; the last token is of kind `end`. Throws Error of a mark that PTX does not have.
std::vector<Token> tokens(std::string_view text);

// An integer (decimal, 0x…, 0b…, octal, with or without U), or the bits of a float (0f…, 0d…).
struct Number {
  uint64_t value = 0;
  enum class Is : uint8_t { integer, f32, f64 } is = Is::integer;
};
Number number(const Token& token);

}  // namespace hone::ptx
