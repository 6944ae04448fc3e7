#include "tests/support/ptx/syntax.h"

#include <charconv>

#include "base/error.h"

namespace hone::ptx {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> out;
    while (skip_space()) out.push_back(token());
    out.push_back({Token::Is::end, {}, line_});
    return out;
  }

 private:
  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  // To the next token, if there is one.
  bool skip_space() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      else if (c == '/' && at(at_ + 1) == '/') at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      else if (c == '/' && at(at_ + 1) == '*') skip_comment();
      else if (c != ' ' && c != '\t' && c != '\r') return true;
    }
    return false;
  }
  void skip_comment() {
    const size_t end = text_.find("*/", at_ + 2);
    if (end == text_.npos) fail("line {}: a comment that does not end", line_);
    for (; at_ < end + 1; ++at_) line_ += text_[at_] == '\n';
  }

  Token token() {
    const size_t from = at_;
    const char c = text_[at_];
    if (letter(c) || (c == '.' && letter(at(at_ + 1)))) return word(from);
    if (digit(c)) {
      while (digit(at(at_)) || letter(at(at_)) || (at(at_) == '.' && digit(at(at_ + 1)))) ++at_;
      return {Token::Is::number, text_.substr(from, at_ - from), line_};
    }
    if (c == '"') {
      at_ = text_.find_first_of("\"\n", at_ + 1);
      if (at(at_) != '"') fail("line {}: a text that does not end", line_);
      ++at_;
      return {Token::Is::text, text_.substr(from, at_ - from), line_};
    }
    if (std::string_view("{}[]()<>,;:@!+-=|").find(c) == std::string_view::npos)
      fail("line {}: byte {} begins nothing", line_, int{static_cast<unsigned char>(c)});
    ++at_;
    return {Token::Is::mark, text_.substr(from, 1), line_};
  }
  Token word(size_t from) {
    for (;; ++at_) {
      if (letter(at(at_)) || digit(at(at_)) || at(at_) == '.') continue;
      if (at(at_) == ':' && at(at_ + 1) == ':' && letter(at(at_ + 2))) ++at_;  // .shared::cta
      else break;
    }
    return {Token::Is::word, text_.substr(from, at_ - from), line_};
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Token> tokens(std::string_view text) { return Lexer(text).run(); }

Number number(const Token& token) {
  std::string_view digits = token.text;
  Number out;
  int base = 10;
  const auto begins = [&](std::string_view lower, std::string_view upper) {
    const bool yes = digits.starts_with(lower) || digits.starts_with(upper);
    if (yes) digits.remove_prefix(lower.size());
    return yes;
  };
  size_t exact = 0;
  if (begins("0f", "0F")) base = 16, exact = 8, out.is = Number::Is::f32;
  else if (begins("0d", "0D")) base = 16, exact = 16, out.is = Number::Is::f64;
  else if (begins("0x", "0X")) base = 16;
  else if (begins("0b", "0B")) base = 2;
  else if (digits.size() > 1 && digits[0] == '0') base = 8;
  if (!exact && digits.ends_with('U')) digits.remove_suffix(1);
  const char* end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, out.value, base);
  if (error != std::errc() || stopped != end || (exact && digits.size() != exact))
    fail("line {}: {} is no number of 64 bits; accepted: integers, 0f and 8 digits, 0d and 16", token.line, token.text);
  return out;
}

}  // namespace hone::ptx
