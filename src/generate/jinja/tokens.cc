#include "generate/jinja/tokens.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/utf8.h"

namespace hone::jinja {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) {
    for (size_t i = 0; i < source.size(); ++i) {  // jinja2 reads all line ends as \n
      if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
      text_ += source[i] == '\r' ? '\n' : source[i];
    }
    if (text_.ends_with('\n')) text_.pop_back();  // keep_trailing_newline=False
  }

  std::vector<Token> read() {
    while (at_ < text_.size()) read_piece();
    add(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  bool follows(std::string_view what) const { return std::string_view(text_).substr(at_).starts_with(what); }
  char here(size_t behind = 0) const { return at_ + behind < text_.size() ? text_[at_ + behind] : '\0'; }
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  void advance(size_t bytes) {
    for (; bytes > 0 && at_ < text_.size(); --bytes) line_ += text_[at_++] == '\n';
  }
  [[noreturn]] void refuse(const std::string& why, int line) const { fail("line {}: {}", line, why); }

  // Text up to the next tag, and that tag.
  void read_piece() {
    size_t open = at_;
    while ((open = text_.find('{', open)) != std::string::npos && !is_opening(open)) ++open;
    const size_t end = std::min(open, text_.size());
    std::string text = text_.substr(at_, end - at_);
    if (open == std::string::npos) {
      if (!text.empty()) add(TokenKind::text, text);
      advance(text_.size() - at_);
      return;
    }
    const char kind = text_[open + 1], sign = open + 2 < text_.size() ? text_[open + 2] : '\0';
    if (sign == '-') text.erase(std::find_if_not(text.rbegin(), text.rend(), is_blank).base(), text.end());
    else if (sign != '+' && kind != '{') strip_line(text);
    if (!text.empty()) add(TokenKind::text, text);
    advance(end - at_ + (sign == '-' || (sign == '+' && kind != '{') ? 3 : 2));
    kind == '#' ? skip_comment() : read_tag(kind == '{');
  }
  bool is_opening(size_t i) const {
    return i + 1 < text_.size() && (text_[i + 1] == '{' || text_[i + 1] == '%' || text_[i + 1] == '#');
  }
  // lstrip_blocks: blanks between the line's begin and a tag.
  void strip_line(std::string& text) const {
    const size_t newline = text.rfind('\n'), begin = newline == std::string::npos ? 0 : newline + 1;
    if (begin == 0 && !at_line_begin_) return;
    if (std::all_of(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_blank)) text.resize(begin);
  }
  // Behind "-": all blanks; behind a tag: one line end (trim_blocks).
  void close(bool strips, bool trims) {
    const size_t begin = at_;
    if (strips)
      while (at_ < text_.size() && is_blank(text_[at_])) advance(1);
    else if (trims && here() == '\n') advance(1);
    at_line_begin_ = at_ > begin && text_[at_ - 1] == '\n';
  }
  void skip_comment() {
    const int line = line_;
    const size_t end = text_.find("#}", at_);
    if (end == std::string::npos) refuse("a comment does not end; expected #}", line);
    const char sign = end > at_ ? text_[end - 1] : '\0';
    advance(end + 2 - at_);
    close(sign == '-', sign != '+');
  }
  void read_tag(bool shows) {
    const int line = line_;
    add(shows ? TokenKind::show_begin : TokenKind::tag_begin, "");
    const std::string_view ends = shows ? "}}" : "%}";
    std::string open;  // brackets: a } in them closes no tag
    for (;;) {
      while (at_ < text_.size() && is_blank(text_[at_])) advance(1);
      if (at_ >= text_.size()) refuse(fmt::format("a tag does not end; expected {}", ends), line);
      const bool signs = here() == '-' || (!shows && here() == '+');
      if (open.empty() && (follows(ends) || (signs && std::string_view(text_).substr(at_ + 1).starts_with(ends)))) {
        const char sign = signs ? here() : '\0';
        add(shows ? TokenKind::show_end : TokenKind::tag_end, "");
        advance(signs ? 3 : 2);
        return close(sign == '-', !shows && sign != '+');
      }
      read_word(open);
    }
  }
  void read_word(std::string& open) {
    const char c = here();
    if (begins_name(c)) {
      size_t n = 1;
      while (begins_name(here(n)) || is_digit(here(n))) ++n;
      add(TokenKind::name, text_.substr(at_, n));
      return advance(n);
    }
    if (is_digit(c)) return read_number();
    if (c == '"' || c == '\'') return read_string(c);
    constexpr std::string_view kPairs[] = {"//", "**", "==", "!=", ">=", "<="};
    for (std::string_view pair : kPairs)
      if (follows(pair)) {
        add(TokenKind::sign, std::string(pair));
        return advance(2);
      }
    if (std::string_view("+-*/%~[](){}<>=.:|,").find(c) == std::string_view::npos)
      refuse(fmt::format("a tag has the character \"{}\", which means nothing there", c), line_);
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) refuse(fmt::format("\"{}\" closes nothing", c), line_);
      open.pop_back();
    }
    add(TokenKind::sign, std::string(1, c));
    advance(1);
  }
  void read_number() {
    std::string digits;
    bool whole = true;
    while (is_digit(here()) || here() == '_') digits += here(), advance(1);
    if (here() == '.' && is_digit(here(1))) {
      whole = false;
      do digits += here(), advance(1);
      while (is_digit(here()));
    }
    if ((here() == 'e' || here() == 'E') &&
        (is_digit(here(1)) || ((here(1) == '-' || here(1) == '+') && is_digit(here(2))))) {
      whole = false;
      do digits += here(), advance(1);
      while (is_digit(here()));
    }
    std::erase(digits, '_');
    add(whole ? TokenKind::integer : TokenKind::number, digits);
  }
  void read_string(char quote) {
    const int line = line_;
    std::string value;
    advance(1);
    while (at_ < text_.size() && here() != quote) {
      if (here() == '\\') read_escape(value);
      else value += here(), advance(1);
    }
    if (at_ >= text_.size()) refuse("a string does not end", line);
    advance(1);
    add(TokenKind::string, std::move(value));
  }
  // Those of Python's strings.
  void read_escape(std::string& value) {
    constexpr std::string_view kEscapes = "nrtbfav0\\'\"", kMeanings("\n\r\t\b\f\a\v\0\\'\"", 11);
    const char c = here(1);
    if (const size_t found = kEscapes.find(c); c != '\0' && found != std::string_view::npos) {
      value += kMeanings[found];
      return advance(2);
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {  // Python keeps both
      if (c != '\n') value += '\\';
      if (c != '\0' && c != '\n') value += c;
      return advance(c == '\0' ? 1 : 2);
    }
    const std::string_view hex = std::string_view(text_).substr(at_ + 2, digits);
    uint32_t code = 0;
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    if (hex.size() != digits || error != std::errc() || end != hex.data() + digits || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000))
      refuse(fmt::format("\\{}{} is no character", c, hex), line_);
    append_utf8(value, static_cast<char32_t>(code));
    advance(2 + digits);
  }

  std::string text_;
  size_t at_ = 0;
  int line_ = 1;
  bool at_line_begin_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) { return Lexer(source).read(); }

}  // namespace hone::jinja
