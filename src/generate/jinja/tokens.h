// A template cut into text and the words of its tags. White space around tags is taken away here, as jinja2 does with
// trim_blocks and lstrip_blocks, which transformers sets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::jinja {

enum class TokenKind : unsigned char {
  text,
  tag_begin,
  tag_end,
  show_begin,
  show_end,
  name,
  string,
  integer,
  number,
  sign,
  end
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  int line = 1;
};

// The last is of kind end. Throws Error with the line of a tag, a string or a comment that does not end.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace hone::jinja
